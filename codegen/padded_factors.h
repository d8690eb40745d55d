// codegen/padded_factors.h – operands of products under conditions, copied with zeros around them
//
//     dX[c,x] := sum[o,u | 0 <= x-u < 56](dY[o,x-u]*W[o,c,u])
//
// reads `P[o,x-u]` of a copy that is 0 where `x-u` is no place of dY, without a condition and
// without masks of lanes, as long as all of W is finite: 0 times an infinity is NaN. So do rows of
// images with channels last, `dY[x-u,o]`, which conditions would keep from being one tile. All
// elements of W are looked at when the program runs. If some are not, the copy was made in vain,
// and the kernel with the conditions takes the place of the other one, in tiles of its own, if it
// has any, and without splitting sums. Both ways add the same products, in an order of their own.
#pragma once

#include <optional>
#include <vector>

#include "codegen/contraction_choice.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

struct PaddedFactor {
    std::vector<Kernel> copies;  ///< of the operand, and of the zeros behind its last row
    Kernel product;              ///< of the copy
    /// A buffer: how many of the other factor are not finite, which has to be 0 as the product has
    /// no conditions. Nothing where it has them still.
    std::optional<std::size_t> count = std::nullopt;
};

/// The kernels; adds the copy's buffer and the steps that count. `choice` are the best tiles of
/// the kernel as it is, if it has any, `cycles` what it takes in them or without tiles. Nothing
/// where the kernel has good tiles whose lanes need no masks or whose masks cost nothing, where the
/// conditions are other ones than intervals of what one operand is read at, or where copying costs
/// more than it saves.
[[nodiscard]] std::optional<PaddedFactor> with_padded_factor(
    const Kernel& kernel, const std::optional<ContractionChoice>& choice, double cycles,
    PlanBuilder& builder);

/// The same under the conditions: whatever the other factor is, rows of a tile may then be pixels
/// of which conditions leave some out, since the copy is read at all of them. Of 3x3, two images of
/// 256x7x7, the gradient by the input takes 0.93 ms, not 1.60 with one row for each image (Zen 4).
/// Nothing where masks of lanes are not free, or where tiles of the kernel as it is, which takes
/// `cycles`, would do.
[[nodiscard]] std::optional<PaddedFactor> with_padded_rows(const Kernel& kernel, double cycles,
                                                           PlanBuilder& builder);

}  // namespace ricci::codegen
