// runtime/strided.h – visit the elements of strided arrays in row-major order
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace ricci::runtime {

/// Calls `row(offset, first, length, step)` for each innermost row in row-major order: the row's
/// elements stand at `offset + i * step`, their row-major numbers are `first + i`.
template <class F>
void for_each_row(const Shape& shape, const Strides& strides, F&& row) {
    for (const std::int64_t extent : shape)
        if (extent == 0) return;
    if (shape.empty()) {
        row(std::int64_t{0}, std::int64_t{0}, std::int64_t{1}, std::int64_t{0});
        return;
    }
    const std::size_t last = shape.size() - 1;
    std::vector<std::int64_t> position(last, 0);
    std::int64_t offset = 0;
    for (std::int64_t first = 0;; first += shape[last]) {
        row(offset, first, shape[last], strides[last]);
        std::size_t d = last;
        for (; d > 0; --d) {
            offset += strides[d - 1];
            if (++position[d - 1] < shape[d - 1]) break;
            offset -= strides[d - 1] * shape[d - 1];
            position[d - 1] = 0;
        }
        if (d == 0) return;
    }
}

}  // namespace ricci::runtime
