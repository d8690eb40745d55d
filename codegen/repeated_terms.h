// codegen/repeated_terms.h – dear terms that few indices move, computed once
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Fewer points are computed again sooner than another kernel is compiled.
inline constexpr double least_points_of_repeated_terms = 1 << 16;

/// The program with functions of some of an equation's indices, each value of which it takes many
/// times, in temporaries:
///
///     for b, t, d:  Y[b,t,d] := X[b,t,d]*cos(t*f[d])
///
/// reads an array `cos(t*f[d])` of t and d. Of an array, functions that its last index does not
/// move stay, and of a sum factors of its product: loops compute these once, and contractions pack
/// them. So do functions of indices that a condition relates, larger arrays than the equation
/// touches, and results without indices. Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_repeated_terms(BoundProgram program, double least_points);

}  // namespace ricci::codegen
