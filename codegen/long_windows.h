// codegen/long_windows.h – sums over long windows in blocks that windows share
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with long windows that overlap, as a moving average or a running maximum has them,
///
///     for t:  Y[t] := sum[k in 0:500](x[t+k])
///
/// summed in blocks, which windows that begin a block apart share: k is 20*a + b, so that
/// codegen/separable_windows.h takes
///
///     for u:  Y_window[u] := sum[b in 0:20](x[u+b])
///     for t:  Y[t] := sum[a in 0:25](Y_window[t+20*a])
///
/// What blocks of a length leave over is a term of its own. Windows may be counted from the other
/// end, `sum[k | k <= t && k > t-500](x[k])`, and have borders. Sums round in another order.
/// Makes new terms in the program's context. True: something was written anew.
[[nodiscard]] bool split_long_windows(BoundProgram& program, double least_points);

}  // namespace ricci::codegen
