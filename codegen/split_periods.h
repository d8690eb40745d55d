// codegen/split_periods.h – axes whose index arithmetic repeats, as turns and places in a turn
#pragma once

#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Makes an axis i of which `i // 64` and `i % 64` are taken two axes, i = 64*q + r, of which these
/// are q and r: places become affine, as the reads of merged heads `X[b,c//64,t,c%64]` or of a
/// pixel shuffle. What whole turns leave over of a free axis, before and behind, are
/// kernels of their own, in which the quotient stands still. Empty where there is nothing to gain,
/// for very many quotients, and where writes may meet.
[[nodiscard]] std::vector<Kernel> split_periods(const Kernel& kernel);

}  // namespace ricci::codegen
