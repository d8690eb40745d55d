// codegen/equal_nests.h – nests that are equal but for names
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codegen/nest.h"

namespace ricci::codegen {

/// For each nest the position of the first that does the same to its buffers, in the same order:
/// its own, or that of one before it which differs in the names of the kernel, of buffers and of
/// variables alone. Layers of equal shapes are such kernels.
[[nodiscard]] std::vector<std::size_t> first_equals(std::span<const Nest> nests);

}  // namespace ricci::codegen
