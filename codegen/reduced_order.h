// codegen/reduced_order.h – reduced axes in an order whose loops come to few points in vain
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Puts a reduction's axes into the order in which bounds that the conditions make leave few turns
/// of outer loops without a point, where the order given has many: the gradient of windows that are
/// turned around, `Y[w,i] := X[(8*w+i+4)%56]`,
///
///     for r:  dX[r] := sum[w in 0:7, m in 0:2 | 0 <= 56*m+r-8*w-4 < 8](dY[w,56*m+r-8*w-4])
///
/// has one w for each m, and would ask for m at each w.
void order_reduced(Kernel& kernel);

}  // namespace ricci::codegen
