// codegen/keyed_way.h – how the values of each key are found
#pragma once

#include <cstdint>

#include "base/target.h"

namespace ricci::codegen {

enum class KeyedWay : std::uint8_t {
    search,         ///< every element looks at all points
    in_order,       ///< every point updates its element, one point after the other
    at_once,        ///< every point adds to its element by an atomic store
    inverse_index,  ///< points are sorted by key
};

/// How much there is to do.
struct KeyedWork {
    double elements = 1;  ///< of the result
    double searched = 1;  ///< points that an element looks at
    double points = 1;    ///< that have a key
    double segments = 1;  ///< keys
    double row = 1;       ///< values of a point
};

/// Microseconds on a GPU, a model: it only has to tell apart what differs by far.
[[nodiscard]] double microseconds(KeyedWay way, const KeyedWork& work, const Target& target);

}  // namespace ricci::codegen
