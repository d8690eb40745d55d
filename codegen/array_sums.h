// codegen/array_sums.h – sums over dimensions that an array has by itself, taken first
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Makes a sum over indices of which some are plain subscripts of the one array that is summed, and
/// stand nowhere else, a sum of sums over these, where the others are tied to the result: as the
/// gradient of a bias that all problems of a batch share has them,
///
///     for h, t:  dT[h,t] := sum[b,j | 0 <= t+j-63 < 64](dY[b,h,t+j-63,j])
///     for h, k:  dT[h,k] := sum[b,i,j | k == B[i,j]](dY[b,h,i,j])
///
/// reads the array as it lies in memory, and goes along diagonals, or by keys, of what is left:
///
///     for h, i, j:  S[h,i,j] := sum[b](dY[b,h,i,j])
///     for h, k:  dT[h,k] := sum[i,j | k == B[i,j]](S[h,i,j])
///
/// Arrays of fewer than `least_elements` stay. The order in which elements are summed differs.
[[nodiscard]] BoundProgram with_array_sums(BoundProgram program, double least_elements);

}  // namespace ricci::codegen
