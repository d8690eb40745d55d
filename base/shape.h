// base/shape.h – extents and strides with overflow-checked arithmetic
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ricci {

/// Extents, one for each dimension, outermost first. Rank 0 is a scalar.
using Shape = std::vector<std::int64_t>;
/// Steps in elements, one for each dimension.
using Strides = std::vector<std::int64_t>;

inline constexpr std::size_t max_rank = 16;
inline constexpr std::int64_t max_elements = std::int64_t{1} << 48;

/// The product of the extents (1 for a scalar).
/// Throws: `limit` when it exceeds `max_elements` or an extent is negative.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// Strides of a contiguous row-major array.
[[nodiscard]] Strides row_major_strides(const Shape& shape);
/// `[8, 32]`; `[]` for a scalar.
[[nodiscard]] std::string str(const Shape& shape);

}  // namespace ricci
