// codegen/cache_lines.h – lines of the caches: how many a load touches, and requests for them
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Bytes of a line of the caches.
inline constexpr std::int64_t line_bytes = 64;
inline constexpr std::int64_t page_bytes = 4096;

/// Lines that are read along an axis, roughly; 1 where that stays in one line, or does not move.
[[nodiscard]] double lines_along(const Load& load, DType dtype, const Axis& axis);
/// Along all of them, roughly: only points along one axis share lines.
[[nodiscard]] double lines_along(const Load& load, DType dtype, const std::vector<Axis>& axes);

/// Requests for the lines of so many elements of an argument from a place on, as far as the first-
/// or the second-level cache.
[[nodiscard]] Body prefetch_lines(Nest& nest, BufferId buffer, Address first, std::int64_t elements,
                                  int level);

}  // namespace ricci::codegen
