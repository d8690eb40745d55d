// codegen/cache_lines.h – lines of the caches that a load touches along axes
#pragma once

#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Of a line of the caches.
inline constexpr double line_bytes = 64;

/// Of what is read along an axis; 1 where that stays in one line, or does not move.
[[nodiscard]] double lines_along(const Load& load, DType dtype, const Axis& axis);
/// Of what is read along all of them, as if no two points of different axes met.
[[nodiscard]] double lines_along(const Load& load, DType dtype, const std::vector<Axis>& axes);

}  // namespace ricci::codegen
