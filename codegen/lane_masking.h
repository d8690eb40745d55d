// codegen/lane_masking.h – reductions whose points move with the lanes: conditions as masks
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/lower.h"

namespace ricci::codegen {

/// Masks of a row that are written out, known when code is made, at most.
constexpr std::int64_t most_constant_masks = 16;

/// Which lanes are summed, and where in the loops over reduced points that is decided.
struct LaneMasking {
    std::vector<AffineForm> at_least_zero;  ///< at the lanes that are summed
    std::size_t outer_loops = 0;            ///< reduced loops outside the mask
    bool are_constant = false;              ///< the others are unrolled, each with its own
};

/// Makes masks of a kernel's conditions that move with the lanes, of blocks of `width` lanes, and
/// puts its reduced axes in order; what they leave to the loops is what holds for some lane. Where
/// a mask serves all windows of a block (side_by_side.h), it is made outside of them.
[[nodiscard]] LaneMasking mask_lanes(Kernel& kernel, const Axis& lane, std::int64_t width,
                                     bool has_windows);

}  // namespace ricci::codegen
