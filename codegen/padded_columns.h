// codegen/padded_columns.h – operands of products under conditions, copied with zeros around them
//
//     dX[c,x] := sum[o,u | 0 <= x-u < 56](dY[o,x-u]*W[o,c,u])
//
// reads `P[o,x-u]` of a copy that is 0 where `x-u` is no place of dY, without a condition and
// without masks of lanes, as long as all of W is finite: 0 times an infinity is NaN. Whether it is,
// is counted when the program runs, and the kernel with the conditions takes its place if not.
#pragma once

#include <optional>

#include "codegen/contraction_choice.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

struct PaddedColumns {
    Kernel copy;
    Kernel product;         ///< without the conditions, of the copy
    std::size_t count = 0;  ///< the plan's buffer with how many elements are not finite
};

/// Both kernels; adds the copy's buffer and the steps that count. Nothing where lanes need no masks
/// or masks cost nothing, where the conditions are other ones than intervals of what one operand is
/// read at, or where copying costs more than it saves.
[[nodiscard]] std::optional<PaddedColumns> with_padded_columns(const Kernel& kernel,
                                                               const ContractionChoice& choice,
                                                               PlanBuilder& builder);

}  // namespace ricci::codegen
