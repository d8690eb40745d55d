// codegen/left_out_zeros.h – products with padded arrays, without the terms that are 0
//
//     Y[o,y,x] := sum[c,r,s](P[c,y+r,x+s]*W[o,c,r,s])
//
// where P holds zeros around an image (codegen/shared_operands.h) is summed over the points that
// read the image alone, as long as all of W is finite: 0 times an infinity is NaN. Of a 3x3
// convolution of 7x7 pixels that is four fifths of them. If some of W is not finite, the product
// with all points takes its place. Both add the same numbers, in an order of their own.
#pragma once

#include <cstddef>
#include <optional>

#include "codegen/contraction_choice.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

struct LeftOutZeros {
    Kernel product;         ///< under the conditions
    std::size_t count = 0;  ///< a buffer: how many of the other factor are not finite
};

/// The product, and the steps that count are added. Nothing where the kernel is no product with a
/// padded array, where masks of lanes are not free, where few of its points meet zeros, or where
/// tiles of what is left would take longer than those of `choice`.
[[nodiscard]] std::optional<LeftOutZeros> with_zeros_left_out(const Kernel& kernel,
                                                              const ContractionChoice& choice,
                                                              PlanBuilder& builder);

}  // namespace ricci::codegen
