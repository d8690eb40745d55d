// codegen/lane_steps.h – lanes a few elements apart: what estimates and emitter agree on
#pragma once

#include <cstdint>

#include "base/target.h"

namespace ricci::codegen {

/// Up to so many elements from lane to lane, whole vectors are read or written and shuffled;
/// beyond, lanes are gathered and scattered one by one.
constexpr std::int64_t longest_short_step = 4;

/// Squares of fewer lanes are not transposed in registers.
constexpr std::int64_t least_square = 4;

/// Fewer columns than this are not made a square: they are read or written lane by lane.
constexpr std::int64_t least_columns = 3;

/// Longer rows take more registers than there are several times over.
constexpr std::int64_t most_columns_of_rows = 32;

/// Whether stores of some lanes are one instruction, which short steps need: AVX-512.
[[nodiscard]] inline bool has_masked_stores(const Target& target) {
    return target.vector_bytes >= 64;
}

/// Of so many points along an axis, those that fill squares of as many lanes, and what is left over
/// where its rows can be masked.
[[nodiscard]] inline std::int64_t points_in_squares(std::int64_t extent, std::int64_t lanes,
                                                    const Target& target) {
    const std::int64_t rest = extent % lanes;
    return rest >= least_columns && has_masked_stores(target) ? extent : extent - rest;
}

}  // namespace ricci::codegen
