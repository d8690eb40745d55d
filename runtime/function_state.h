// runtime/function_state.h – what copies of a Function share
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/bound.h"
#include "runtime/complex_parts.h"
#include "runtime/executor.h"
#include "runtime/function.h"

namespace ricci::cuda {
class Executable;
}  // namespace ricci::cuda

namespace ricci {

/// A program compiled for one set of types, shapes, strides and structural values.
struct Specialisation {
    std::vector<ArgumentSpec> arguments;   ///< in order of the program's arguments
    std::vector<std::string> outputs;      ///< asked for; empty: the result
    Precision precision = Precision::f32;  ///< on the CPU: that of its target
    std::vector<std::size_t> results;      ///< of the bound outputs: those asked for
    std::vector<std::size_t> inputs;  ///< of the program's arguments: those of the bound program
    std::optional<runtime::ComplexParts> parts;      ///< of a complex program: what runs is real
    std::optional<runtime::Executable> executable;   ///< on the CPU
    std::shared_ptr<const cuda::Executable> on_gpu;  ///< on a GPU
    std::optional<BoundProgram> reference;           ///< on the reference device

    /// The asked outputs for these arguments, which must fit.
    [[nodiscard]] std::vector<Array> run(std::span<const Array* const> given) const;
    /// The bound outputs for the bound arguments.
    [[nodiscard]] std::vector<Array> run_bound(std::span<const Array* const> given) const;
    /// `3 kernels`, for logs.
    [[nodiscard]] std::string extent() const;
    /// Its GPU was given up.
    [[nodiscard]] bool is_lost() const noexcept;
};

/// A function cut in two for the tape.
struct TapePair {
    Function forward;
    std::vector<std::string> outputs;  ///< of `forward`: the result, then what `backward` reads
    /// By position of the argument; the rest have a gradient written by hand or none.
    std::map<std::size_t, Function> backward;
    std::map<std::size_t, std::string> gradients;  ///< their results, which are outputs of `shared`
    Function shared;  ///< all of them in one, where that computes less; empty: each by itself
};

/// One derivative of a program, or its expansion (dsl/expand.h).
struct DerivativeStep {
    enum class Mode : std::uint8_t { reverse, forward, expansion };
    Mode mode = Mode::reverse;
    std::vector<std::string> arguments;
    std::vector<std::string> outputs;  ///< those with cotangents, or whose tangents are wanted
    Ties ties = Ties::first;
};

/// What a derivative was made from: it is made again for complex arrays, whose rules differ.
struct DerivativeSource {
    Program forward;                    ///< no derivative itself
    std::vector<DerivativeStep> steps;  ///< the first one of `forward`, each other of the last
};

struct Function::State {
    State(Program source, std::string function_name, Device where,
          std::shared_ptr<std::mutex> shared_mutex);

    /// The compiled program for these arguments, made when it is met first.
    [[nodiscard]] std::shared_ptr<const Specialisation> specialise(
        std::span<const Array* const> arguments, const std::vector<std::string>& outputs);
    /// Arguments by name in the program's order. Throws: `name`; `gradient` when the gradient of an
    /// integer is asked for.
    [[nodiscard]] std::vector<const Array*> in_order(const Arguments& arguments) const;
    /// Throws: `name` when the count differs.
    void require_count(std::size_t count) const;
    /// Position of the argument of that name. Throws: `name`.
    [[nodiscard]] std::size_t position_of(std::string_view argument) const;
    [[nodiscard]] std::vector<Array> run(std::span<const Array* const> arguments,
                                         const std::vector<std::string>& outputs);
    /// A function made from this one: it accepts this one's arguments too.
    [[nodiscard]] Function derive(Program derived, std::string derived_name,
                                  std::vector<std::string> also_accepted) const;
    /// The pair for gradients of the arguments at these positions. Made once. Throws: `gradient`.
    [[nodiscard]] std::shared_ptr<const TapePair> pair(const std::vector<std::size_t>& wanted);
    /// The function with one more derivative. Throws: `name gradient`.
    [[nodiscard]] Function derivative(DerivativeStep step, std::string derived_name);
    /// The derivative for these arguments when some are complex and this is one for real arrays.
    [[nodiscard]] std::optional<Function> complex_form(const Arguments& arguments);
    /// The same for arguments in order.
    [[nodiscard]] std::optional<Function> complex_form(std::span<const Array* const> arguments);
    /// The name of the function's result.
    [[nodiscard]] const std::string& result_name() const;

    Program program;    ///< as the user wrote it
    Program canonical;  ///< what is bound
    std::string name;
    Device device;
    std::vector<std::string> argument_names;
    std::vector<std::string> ignored_names;     ///< accepted by name, not needed
    std::vector<std::string> floating_names;    ///< of a derivative: by what, and the tangents
    std::optional<DerivativeSource> made_from;  ///< of a derivative for real arrays
    bool is_on_tape = false;                    ///< made for real arrays, and nothing else
    bool is_expanded = false;                   ///< made for arrays of one type
    std::vector<bool> is_structural;            ///< by argument: its value decides the kernels
    std::vector<bool> is_updated;               ///< by argument: a statement changes it

    /// Held while the program's terms are worked on: functions made from one another share them.
    std::shared_ptr<std::mutex> compiling;

    std::mutex entries_mutex;
    std::vector<std::shared_ptr<const Specialisation>> entries;  ///< the last used first

    mutable std::mutex derived_mutex;
    /// By arguments, outputs and ties.
    using Derivatives =
        std::map<std::tuple<std::vector<std::string>, std::vector<std::string>, Ties>, Function>;
    Derivatives gradients;
    Derivatives tangents;
    Ties ties = Ties::first;  ///< on the tape
    /// By the names of the arguments given and of the complex ones; nothing where this one will do.
    std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::optional<Function>>
        complex_forms;
    std::map<std::string, Gradient, std::less<>> registered;
    std::map<std::vector<std::size_t>, std::shared_ptr<const TapePair>> pairs;

  private:
    [[noreturn]] void fail_names(const Arguments& arguments) const;
    [[nodiscard]] std::shared_ptr<const Specialisation> find_entry(
        std::span<const Array* const> arguments, const std::vector<std::string>& outputs);
    [[nodiscard]] bool fits(const Specialisation& entry, std::span<const Array* const> arguments,
                            const std::vector<std::string>& outputs) const;
    [[nodiscard]] Specialisation make(std::span<const Array* const> arguments,
                                      const std::vector<std::string>& outputs) const;
    /// For the CPU, tuned on these arguments if that is wanted.
    [[nodiscard]] runtime::Executable compiled(BoundProgram bound, const Specialisation& entry,
                                               std::span<const Array* const> arguments,
                                               const Target& target) const;
};

namespace runtime {

/// What binding needs to know of an array; `with_value` when its value decides the kernels.
[[nodiscard]] ArgumentSpec spec_of(const Array& array, bool with_value);
/// The value of an array of one element.
[[nodiscard]] Number number_of(const Array& array);
/// Checks of one argument that binding does not make.
/// Throws: `name type`.
void check_argument(const Tensor& tensor, const Array& array, bool is_updated);

}  // namespace runtime
}  // namespace ricci
