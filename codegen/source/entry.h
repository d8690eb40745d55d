// codegen/source/entry.h – what an entry point is made of: parameters, temporaries, names
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/names.h"
#include "codegen/plan.h"
#include "codegen/source/emit.h"

namespace ricci::codegen::source {

/// A pointer that the caller gives.
struct Parameter {
    enum class Use : std::uint8_t { read, updated, result };
    TensorId tensor{};
    std::string name;
    Use use = Use::read;
    bool is_used = false;                              ///< some step has it
    std::optional<std::int64_t> fixed = std::nullopt;  ///< the value that the code is made for
    bool is_staged = false;  ///< a step writes it before all data is checked: a copy is updated
};

/// What stands behind a buffer of the plan.
struct EntryBuffer {
    std::string name;                      ///< of the parameter, or of a local variable
    std::optional<std::size_t> parameter;  ///< else it is a temporary
    bool is_used = false;
};

struct Entry {
    std::string symbol;
    std::vector<Parameter> parameters;
    std::vector<EntryBuffer> buffers;  ///< of the plan
    cuda::Names names;                 ///< in use inside
};
[[nodiscard]] Entry make_entry(const SourceProgram& program, const Plan& plan);

/// The name of a nest's function: that of the tensor it makes behind a number.
[[nodiscard]] std::string function_name(const Nest& nest, std::size_t number);

/// Lines that begin with `//`: what the entry point computes and what it is given.
[[nodiscard]] std::string description(const SourceProgram& program, const Entry& entry);

/// What a failed check of the program says.
[[nodiscard]] std::string message(const BoundProgram& program, const BoundCheck& check);

/// The text with lines of at most 100 columns, where words and brackets allow it.
[[nodiscard]] std::string wrapped(std::string_view text);

/// `head(a, b) {`.
[[nodiscard]] std::string signature(std::string_view head,
                                    const std::vector<std::string>& parameters);

/// The parameter as kernels take it: halves have a type of their own there, `element_type`.
[[nodiscard]] std::string pointer(const Parameter& parameter, DType dtype,
                                  std::string_view element_type);

}  // namespace ricci::codegen::source
