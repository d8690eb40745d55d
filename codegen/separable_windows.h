// codegen/separable_windows.h – sums over windows, one index after the other
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Operations that are worth an array in between.
inline constexpr double least_points_of_windows = 1 << 18;

/// The program with reductions over windows that overlap in several dimensions, as of a blur, a
/// mean of neighbours or a dilation,
///
///     for y, x:  Y[y,x] := sum[r,s](g[r]*h[s]*A[y+r,x+s])
///
/// over one index first: what has it reads y and r in y+r alone, so that windows share its sums,
///
///     for t, x:  Y_window[t,x] := sum[s](h[s]*A[t,x+s])
///     for y, x:  Y[y,x] := sum[r](g[r]*Y_window[y+r,x])
///
/// and again while that takes at most half of the operations. So of 15 by 15 elements 30 are left.
/// Products too, maxima, minima, and the gradients of all but these: the two indices that meet in
/// one form may be free or reduced, of any steps. Conditions that have the index, and those of the
/// form, go with it; others stay. Sums round in another order. Reads whose places are data stay.
/// Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_separable_windows(BoundProgram program,
                                                  double least_points = least_points_of_windows);

}  // namespace ricci::codegen
