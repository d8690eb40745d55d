// codegen/cache_lines.h – lines of the caches: how many a load touches, and requests for them
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Bytes of a line of the caches.
inline constexpr std::int64_t line_bytes = 64;
inline constexpr std::int64_t page_bytes = 4096;
/// Bytes of a way of the first-level cache: 64 sets of a line.
inline constexpr std::int64_t way_bytes = 4096;
/// Places a multiple of so many bytes apart meet in one or two sets of the first-level cache.
inline constexpr std::int64_t sets_bytes = 2048;

/// Whether units take two turns for a vector, as Zen 4's for those of AVX-512.
[[nodiscard]] inline bool has_half_units(const Target& target) {
    return target.unit_bytes < target.vector_bytes;
}

/// Whether a line takes several vectors: AVX2, SSE2. Few operations hide how long it takes to come,
/// and are a point's between those of its loops.
[[nodiscard]] inline bool has_short_vectors(const Target& target) {
    return target.vector_bytes < line_bytes;
}

/// Whether what a store writes along an axis begins with a line at every point of the others, if
/// arrays start at lines.
[[nodiscard]] bool begins_lines(const Nest& nest, const Store& store, const Axis& axis);

/// Lines that are read along an axis, roughly; 1 where that stays in one line, or does not move.
[[nodiscard]] double lines_along(const Load& load, DType dtype, const Axis& axis);
/// Along all of them, roughly: only points along one axis share lines.
[[nodiscard]] double lines_along(const Load& load, DType dtype, const std::vector<Axis>& axes);

/// Whether the lines of the points along axes fall into many sets of the caches, which rows of some
/// power of two do not. Elements are of so many bytes.
[[nodiscard]] bool is_spread(const Load& load, std::int64_t bytes, const Axis& axis);
[[nodiscard]] bool is_spread(const Load& load, std::int64_t bytes, const std::vector<Axis>& axes);

/// A cache: bytes of a way, a line of each set, and of all ways.
struct CacheSets {
    std::int64_t way = 0;
    std::int64_t bytes = 0;
};
/// Whether lines side by side along an axis are more than their sets hold: each is lost before its
/// next element is asked for.
[[nodiscard]] bool share_too_few_sets(const Load& load, std::int64_t bytes, const Axis& axis,
                                      const CacheSets& cache);
/// Whether the lines of all points of the axes are more than their sets hold: points some multiple
/// of 1 KiB apart, say, share four sets of the first-level cache.
[[nodiscard]] bool overflow_sets(const Load& load, std::int64_t bytes,
                                 const std::vector<Axis>& axes, const CacheSets& cache);

/// Requests for the lines of so many elements of an argument from a place on, as far as the first-
/// or the second-level cache.
[[nodiscard]] Body prefetch_lines(Nest& nest, BufferId buffer, Address first, std::int64_t elements,
                                  int level);

}  // namespace ricci::codegen
