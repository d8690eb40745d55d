// codegen/pinned_indices.h – reduced indices that a condition says are data
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with reductions over indices of which a condition says which one value they have,
///
///     for i, d:  y[i,d] := sum[v in 0:50000 | v == word[i]](E[v,d])
///
/// written with that value, which the condition keeps in the index's range:
///
///     for i, d:  y[i,d] := sum[once in 0:1 | word[i] >= 0 && word[i] < 50000](E[word[i],d])
///
/// and the same of several indices that one number counts, `8*r + s == place[i]` with s in 0:8, and
/// where the condition is a choice in a sum, `v == word[i] ? E[v,d] : 0`. Reductions over few
/// values stay: lanes compare them faster than they gather. Indices that lie in a window at a place
/// of data, `t >= p[i] && t < p[i]+8`, are that place and one in the window
/// (codegen/keyed_windows.h). One of several reduced indices that a
/// condition says is an index of the result, `k == u`, is that index. Makes new terms in the
/// program's context.
[[nodiscard]] BoundProgram with_pinned_indices(BoundProgram program);

}  // namespace ricci::codegen
