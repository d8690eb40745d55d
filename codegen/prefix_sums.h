// codegen/prefix_sums.h – sums up to each point, block by block
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Reductions of fewer points (results times points) are left as triangles.
inline constexpr double least_points_of_prefixes = 1 << 16;

/// The program with sums, products and extremes of what comes before each point, or from it on,
///
///     for i, k:  Y[i,k] := sum[l | l <= k](f(i,l))
///
/// in blocks of B points: n*(B + n/B^2) values are added instead of n^2/2,
///
///     for i, b:  p[i,b] := sum[s in 0:B](f(i,B*b+s))                     of each block
///     for i, b:  P[i,b] := sum[c | c < b](p[i,c])                        of all before it: again
///     so for i, k:  Y[i,k] := P[i,k//B] + sum[s | s <= k%B](f(i,k//B*B+s))
///
/// The condition compares l with k and a number; the value must not depend on k. Rows of fewer than
/// 64 results or points stay as they are. Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_prefix_sums(BoundProgram program, double least_points);

}  // namespace ricci::codegen
