// dsl/split_complex.h – complex programs as real ones: each complex tensor becomes two
#pragma once

#include <utility>
#include <vector>

#include "dsl/bound.h"

namespace ricci {

/// A bound program without complex types, and where the parts of complex arrays went. A complex
/// argument or output is followed by its imaginary part (outputs unless joined); the real part
/// keeps its number.
struct SplitProgram {
    BoundProgram program;
    std::vector<bool> is_complex_argument;  ///< by position in the arguments before
    std::vector<bool> is_complex_output;    ///< by position in the outputs before
};

[[nodiscard]] bool has_complex(const BoundProgram& program) noexcept;

/// Writes the arithmetic of complex numbers out in their real and imaginary parts.
/// Throws: `type` for a function that has no complex form.
[[nodiscard]] SplitProgram split_complex(BoundProgram program);

/// The same with each complex output as one array again, as it lies in memory: its last dimension
/// is both parts,
///
///     for i, p in 0:2:  C[i,p] := p == 0 ? C.re[i] : C.im[i]
///
[[nodiscard]] SplitProgram with_joined_outputs(SplitProgram split);

}  // namespace ricci
