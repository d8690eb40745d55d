// codegen/narrow_axes.h – reduced axes of which each result takes a few neighbouring points
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Counts the points of reduced axes from the first one that a result takes, where conditions say
/// that each takes equally many: `2*t <= y` and `y < 2*t+2` become y = 2*t+r with r in 0..2, as in
/// the gradient of `X[y//2]`. These conditions go, and the axis is as short as its sums.
void narrow_axes(Kernel& kernel);

}  // namespace ricci::codegen
