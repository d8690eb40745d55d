// codegen/separate_sums.h – sums of products whose indices nothing ties together
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Makes a sum under conditions, of factors that have no index of it in common, a product of sums:
/// `sum[s,t | s < u && t >= u](A[s]*B[t,u])` is `sum[s | s < u](A[s]) * sum[t | t >= u](B[t,u])`
/// where both have a point, else 0. Conditions that the others imply are dropped (`s <= t` here).
/// Where elements are infinite, results are those of this order.
[[nodiscard]] BoundProgram with_separate_sums(BoundProgram program);

}  // namespace ricci::codegen
