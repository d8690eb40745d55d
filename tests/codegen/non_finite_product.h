// tests/codegen/non_finite_product.h – a product of matrices that hold infinities and NaN
#pragma once

#include <string>

#include "base/dtype.h"
#include "base/target.h"

namespace ricci::tests {

/// Compiles and runs `C[i,j] := A[i,k]*B[k,j]` of 40x65 and 65x40 elements, of which some are
/// infinite, NaN, of f32 also the greatest number, and some of these at the last point, beside what
/// fills tiles. The first element that the reference has otherwise: infinities and NaN elsewhere,
/// numbers but for `tolerance` of them and 0.01. Empty when there is none.
[[nodiscard]] std::string non_finite_product_difference(DType dtype, const Target& target,
                                                        double tolerance);

}  // namespace ricci::tests
