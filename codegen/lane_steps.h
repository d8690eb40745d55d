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

/// Whether stores of some lanes are one instruction, which short steps need: AVX-512.
[[nodiscard]] inline bool has_masked_stores(const Target& target) {
    return target.vector_bytes >= 64;
}

}  // namespace ricci::codegen
