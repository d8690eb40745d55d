// codegen/gpu/numbering.h – axes of a group run over by one number
//
// A tile is cut from the row-major box of several axes at once (the rows of an implicit matrix are,
// say, images, lines and pixels). A point of it is named by divisions; axes that a term walks as
// one need none.
#pragma once

#include <vector>

#include "codegen/kernel.h"
#include "codegen/nest_build.h"

namespace ricci::codegen::gpu {

/// Axes as these terms see them: where every address walks two neighbours as one, the outer has
/// extent 1 and the inner both extents. Axes of extent 1 come first.
[[nodiscard]] std::vector<Axis> joined(const std::vector<Value>& terms,
                                       const std::vector<Axis>& axes);

/// The place of a point in the row-major box of the axes.
[[nodiscard]] AffineForm row_major(const std::vector<Axis>& axes);

/// A point of a box: `lanes` times `number`, plus `lane` (below `lanes`, which divides the
/// innermost extent).
struct Point {
    AffineForm number;
    std::int64_t lanes = 1;
    AffineForm lane = {};
    bool wraps = false;  ///< the number may be too great: it is taken modulo the points of the box
};

/// Replaces the axes by their place at a point. What takes a division becomes a new variable,
/// defined in `names`.
void name_point(Nest& nest, const std::vector<Axis>& axes, const Point& point, Body& names,
                Substitution& to);

}  // namespace ricci::codegen::gpu
