// codegen/recurrences.h – sums up to each point whose terms a factor carries on
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Makes `Y[t] := sum[s | s <= t](X[s]*P[s,t])`, where `P[s,t] := prod[u | u > s && u <= t](a[u])`,
/// one walk over the points: what stands before a point is multiplied by a of it
/// (`Reduction::carry`). That is n steps for n results, not n^2/2, and nothing has both s and t.
/// From each point on (`s >= t`) likewise. Factors that carry a sum on are those of
/// codegen/carried_factors.h; what of them, and of others, has t alone multiplies the result, and
/// further indices are summed over after the walk, in an equation of its own. Where `takes_sums`,
/// sums that nothing carries on, `sum[s | s <= t && M[t] > 0](X[s])`, leave their conditions of t
/// alone to the result, too: they are walks then (codegen/lower_scan.cpp).
[[nodiscard]] BoundProgram with_recurrences(BoundProgram program, bool takes_sums = false);

}  // namespace ricci::codegen
