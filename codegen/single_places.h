// codegen/single_places.h – sums that one place of an axis has alone
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with sums of which a condition says for which one place of the result they are, as
/// the gradients of what is read at constants,
///
///     for i, t:  dA[i,t] := sum[j | t == 2](f(i,j))
///
/// written as the sum for that place, and 0 elsewhere:
///
///     for i:     s[i] := sum[j](f(i,j))
///     for i, t:  dA[i,t] := t == 2 ? s[i] : 0
///
/// Then sums for several places run over the same points, and one loop has them all
/// (codegen/joint_sums.h). Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_single_places(BoundProgram program);

}  // namespace ricci::codegen
