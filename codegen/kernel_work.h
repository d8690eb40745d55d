// codegen/kernel_work.h – how much a kernel has to do, whatever way it is lowered
#pragma once

#include "codegen/kernel.h"
#include "codegen/row_chain.h"
#include "dsl/work.h"

namespace ricci::codegen {

/// Operations on floating values (as `ricci::work_of` counts them) at the points that affine
/// conditions leave, those that stay along the reduced axes once a free point; bytes of the
/// distinct elements read, and of those written. Where that is too long to find out, conditions
/// hold everywhere; gathered elements are distinct as far as the array has so many.
/// Cost: some 0.1 ms at most.
[[nodiscard]] Work work_of(const Kernel& kernel);

/// The same for a chain: what its stages share is computed and read once.
[[nodiscard]] Work work_of(const RowChain& chain);

/// The points of the axes that affine conditions leave. Where that is too long to find out, all.
/// Cost: some 0.1 ms at most.
[[nodiscard]] double points_left(std::vector<Axis> axes, Conditions conditions);

}  // namespace ricci::codegen
