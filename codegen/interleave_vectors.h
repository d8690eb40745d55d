// codegen/interleave_vectors.h – how many vectors of functions are computed together
#pragma once

#include <cstdint>
#include <vector>

#include "base/target.h"
#include "codegen/kernel.h"

namespace ricci::codegen {

/// What a vector loop computes at its points.
struct VectorWork {
    std::vector<Value> values;
    std::vector<Store> writes = {};  ///< where some of the values go
    std::vector<Value> known = {};   ///< nodes that have been computed
};
/// Vectors side by side along an axis whose operations the pass `interleave` lets take turns: 4 or
/// 2 of functions on AVX2, 1 of other work, where lanes are not side by side in all that is read
/// and written, and where the last vectors, fewer than these, would be too much of the axis.
[[nodiscard]] std::int64_t interleaved_vectors(const VectorWork& work, const Axis& axis,
                                               std::int64_t lanes, const Target& target);

}  // namespace ricci::codegen
