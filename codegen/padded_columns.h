// codegen/padded_columns.h – operands of products under conditions, copied with zeros around them
//
//     dX[c,x] := sum[o,u | 0 <= x-u < 56](dY[o,x-u]*W[o,c,u])
//
// reads `P[o,x-u]` of a copy that is 0 where `x-u` is no place of dY, without a condition and
// without masks of lanes, as long as all of W is finite: 0 times an infinity is NaN. All elements
// of W are looked at when the program runs. If some are not, the copy was made in vain, and the
// kernel with the conditions takes the place of the other one, in tiles of its own and without
// splitting sums. Both ways add the same products, in an order of their own.
#pragma once

#include <optional>

#include "codegen/contraction_choice.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

struct PaddedColumns {
    Kernel copy;
    Kernel product;         ///< without the conditions, of the copy
    std::size_t count = 0;  ///< a buffer: how many of the other factor are not finite
};

/// Both kernels; adds the copy's buffer and the steps that count. Nothing where lanes need no masks
/// or masks cost nothing, where the conditions are other ones than intervals of what one operand is
/// read at, or where copying costs more than it saves.
[[nodiscard]] std::optional<PaddedColumns> with_padded_columns(const Kernel& kernel,
                                                               const ContractionChoice& choice,
                                                               PlanBuilder& builder);

}  // namespace ricci::codegen
