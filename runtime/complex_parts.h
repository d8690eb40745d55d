// runtime/complex_parts.h – complex arrays for programs that know real ones
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "dsl/bound.h"
#include "dsl/split_complex.h"
#include "runtime/array.h"

namespace ricci::runtime {

/// How a bound program's arguments become those of its split form, and the results its own.
class ComplexParts {
  public:
    /// Of the program before it was split; `split` has joined outputs.
    ComplexParts(const BoundProgram& whole, const SplitProgram& split);

    /// The parts, complex arrays as two: views, or copies where they are updated.
    [[nodiscard]] std::vector<Array> split(std::span<const Array* const> arguments) const;
    /// The outputs as complex arrays, in the same memory. Updated complex arguments, where any are
    /// given, are written.
    [[nodiscard]] std::vector<Array> join(std::span<const Array* const> arguments,
                                          std::span<const Array> outputs) const;

  private:
    struct Argument {
        bool is_complex = false;
        bool is_updated = false;
    };
    struct Output {
        bool is_complex = false;
        std::optional<std::size_t> argument;  ///< that it is the final value of
    };
    std::vector<Argument> arguments_;
    std::vector<Output> outputs_;
};

}  // namespace ricci::runtime
