// codegen/implied_conditions.h – conditions that hold at every point, dropped
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program without those parts of reductions' conditions that the ranges of the indices imply,
/// such as the `t == 0` of a dimension of one element: a sum without a condition may be rewritten
/// in more ways. Extremes do not run over indices that only a condition names which some value of
/// them always meets, as `k != t[i]`.
[[nodiscard]] BoundProgram without_implied_conditions(BoundProgram program);

}  // namespace ricci::codegen
