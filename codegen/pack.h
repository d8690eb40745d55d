// codegen/pack.h – operands of a contraction laid out as its innermost loop reads them
//
// A panel buffer is [outer …][tile][k][pitch]: for each tile of `step` rows or columns, one line of
// `pitch` elements for each reduced point. What lies beyond the tiled axis is 0 in the last tile.
#pragma once

#include "codegen/contraction.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// How the rows, or the columns, of a contraction are cut into tiles.
struct Tiling {
    std::vector<Axis> outer;  ///< axes that are not tiled
    Axis axis;                ///< the tiled one
    std::int64_t step = 1;    ///< rows or columns of a tile
    std::int64_t pitch = 1;   ///< elements of a line of a panel

    [[nodiscard]] std::int64_t tiles() const { return (axis.extent + step - 1) / step; }
};

/// A packed operand.
struct Panels {
    std::size_t place = 0;    ///< the plan buffer
    std::vector<Axis> outer;  ///< the axes its panels differ in, outermost first
    std::int64_t depth = 0;   ///< lines of a panel
    std::int64_t pitch = 0;
    std::int64_t tiles = 0;

    /// Where the line of reduced point `k` in panel `tile` starts.
    [[nodiscard]] AffineForm line(const AffineForm& tile, const AffineForm& k) const;
};

/// The number of a reduced point in row-major order.
[[nodiscard]] AffineForm reduced_point(const std::vector<Axis>& reduced);

/// Adds the step that packs an operand: tasks over panels, vectors along the tiled axis.
[[nodiscard]] Panels pack(const Kernel& kernel, const Value& term, const std::vector<Axis>& batch,
                          const Tiling& tiling, std::string name, PlanBuilder& builder);

}  // namespace ricci::codegen
