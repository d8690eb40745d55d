// codegen/narrow_sums.h – integer sums in 32 bits, where types and extents keep them there
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// `i64 sum[k](i64(A[i,k])*i64(B[k,j]))` of numbers of a byte is computed in i32 where the largest
/// product, times the points, fits: lanes are twice as many, a product is one instruction instead
/// of three, and one on pairs of points in contractions (codegen/pair_products.h). What the kernel
/// writes reads the sum as before.
void narrow_sum(Kernel& kernel);

}  // namespace ricci::codegen
