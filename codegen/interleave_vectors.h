// codegen/interleave_vectors.h – how many vectors of functions are computed together
#pragma once

#include <cstdint>
#include <vector>

#include "base/target.h"
#include "codegen/nest.h"

namespace ricci::codegen {

/// Vectors side by side along `extent` points whose operations the pass `interleave` lets take
/// turns: 4 or 2 of values with functions on AVX2, else 1. Nodes that are `known` are not computed.
[[nodiscard]] std::int64_t interleaved_vectors(const std::vector<Value>& values,
                                               const std::vector<Value>& known, std::int64_t extent,
                                               std::int64_t lanes, const Target& target);

}  // namespace ricci::codegen
