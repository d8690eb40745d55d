// base/shape.cpp – extents and strides with overflow-checked arithmetic
#include "base/shape.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ricci {

std::int64_t element_count(const Shape& shape) {
    const auto negative = std::ranges::find_if(shape, [](std::int64_t n) { return n < 0; });
    if (negative != shape.end()) {
        throw Error(
            {.kind = ErrorKind::limit,
             .message = format("extent {} of shape {} is negative", *negative, str(shape))});
    }
    // An array without elements is small, however long its other dimensions are.
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
        if (extent > max_elements / count) {
            throw Error({.kind = ErrorKind::limit,
                         .message = format("an array of shape {} has more than {} (2^48) elements",
                                           str(shape), max_elements),
                         .hint = "use smaller extents, or sum over one of the dimensions"});
        }
        count *= extent;
    }
    return count;
}

Strides row_major_strides(const Shape& shape) {
    Strides strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
        strides[d] = step;
        step *= std::max<std::int64_t>(shape[d], 1);
    }
    return strides;
}

std::string str(const Shape& shape) { return format("[{}]", join(shape, ", ")); }

}  // namespace ricci
