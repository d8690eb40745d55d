// codegen/gpu/atomic_sums.h – points that add to one element at once, by atomic stores
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen::gpu {

/// Makes sums whose points may meet atomic stores, where the target wants it, their types have them
/// and the kernel does not read what it updates: the points then need no order.
void use_atomic_sums(Kernel& kernel, const Target& target);

}  // namespace ricci::codegen::gpu
