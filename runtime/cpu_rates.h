// runtime/cpu_rates.h – what this CPU can do at most, measured by loops that do nothing else
#pragma once

#include "base/dtype.h"

namespace ricci::runtime {

/// Rates of all threads together, each in a loop of so many seconds of the widest vectors that the
/// processor has: floating operations a second.
///
/// A fused multiply-add (2 operations) in each lane of f32 or f64.
[[nodiscard]] double multiply_add_rate(DType dtype, int threads, double seconds = 0.05);
/// A subtraction and a fused multiply-add of f32 (3 operations in 2 slots): the inner step of a
/// squared distance. Processors with adders beside their FMA units can do better than two slots.
[[nodiscard]] double distance_rate(int threads, double seconds = 0.05);
/// Whether there is an instruction for sums of two products of bf16 numbers.
[[nodiscard]] bool has_bf16_pairs();
/// These (4 operations a lane). Needs `has_bf16_pairs`.
[[nodiscard]] double bf16_pair_rate(int threads, double seconds = 0.05);
/// Products of tiles of bf16 numbers, 16 by 32 and 32 by 16, loaded from the first-level cache.
/// Needs `Target::has_bf16_tiles` of this machine's target.
[[nodiscard]] double bf16_tile_rate(int threads, double seconds = 0.05);

/// Bytes a second, read and written, copying arrays beyond the caches.
[[nodiscard]] double copy_rate(int threads, double seconds = 0.05);

}  // namespace ricci::runtime
