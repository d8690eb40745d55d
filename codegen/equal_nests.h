// codegen/equal_nests.h – nests that are equal but for names
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codegen/nest.h"

namespace ricci::codegen {

/// Whether both do the same to their buffers, in the same order: they differ in the names of the
/// kernel, of buffers and of variables alone.
[[nodiscard]] bool are_equal(const Nest& a, const Nest& b);

/// For each nest the position of the first that equals it so: its own, or that of one before it.
/// Layers of equal shapes are such kernels.
[[nodiscard]] std::vector<std::size_t> first_equals(std::span<const Nest> nests);

}  // namespace ricci::codegen
