// codegen/block_conditions.h – whether a condition holds at all points of a block, found in lanes
//
//     for i in order:  if 0 <= J[i] && J[i] < n:  H[J[i]] += x[i]
//
// asks at each point. Keys are rarely outside, and lanes see soon that none of a block is:
//
//     for b by 128:
//       vector l in 0..16:  least[l] min= J[b+l], greatest[l] max= J[b+l]    (eight times)
//       if 0 <= min(least) && max(greatest) < n:
//         for i in order:  H[J[i]] += x[i]
//       else: as above
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Lanes in which the points of a block are asked.
inline constexpr std::int64_t lanes_together = 16;

/// A Let, which is appended to the body with what it takes, that says whether the condition holds
/// at `count` points from `start` on, a multiple of these lanes. `condition` gives it at a place;
/// its parts are asked at every point, wherever others fail.
[[nodiscard]] Value holds_in_block(Kernel& kernel, Body& body, VarId start, std::int64_t count,
                                   const std::function<Value(const AffineForm& place)>& condition);

/// What holds where the condition does: comparisons of integers in the type that these were widened
/// from, and whatever else it asks.
[[nodiscard]] std::vector<Value> narrow_conjuncts(const Value& condition);

}  // namespace ricci::codegen
