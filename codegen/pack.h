// codegen/pack.h – operands of a contraction laid out as its innermost loop reads them
//
// A panel holds, for one tile, `step` rows or columns at every reduced point, in one of two orders:
//   interleaved  [k][step]: a line of columns, or of rows, for each reduced point
//   by row       [row][pitch]: rows whose innermost reduced axis is contiguous, but too short to be
//                transposed by squares, are copied as they are; the pitch is an odd number of cache
//                lines, so that rows do not meet in one set
// What lies beyond the tiled axis is 0 in the last tile.
//
// Of pairs of reduced points (pair_products.h) interleaved panels are [k/2][step][2], and of an odd
// number of points both orders have a 0 after the last.
#pragma once

#include "codegen/contraction.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// How the rows, or the columns, of a contraction are cut into tiles.
struct Tiling {
    std::vector<Axis> outer;  ///< axes that are not tiled
    Axis axis;                ///< the tiled one
    std::int64_t step = 1;    ///< rows or columns of a tile

    [[nodiscard]] std::int64_t tiles() const { return (axis.extent + step - 1) / step; }
    [[nodiscard]] bool has_edge() const { return axis.extent % step != 0; }
};

/// A packed operand.
struct Panels {
    std::size_t place = 0;          ///< the plan buffer
    std::vector<Axis> outer;        ///< the axes its panels differ in, outermost first
    std::int64_t tiles = 0;         ///< panels for each point of `outer`
    std::int64_t elements = 0;      ///< of a panel
    std::int64_t point_step = 0;    ///< from one reduced point to the next
    std::int64_t element_step = 0;  ///< from one row or column to the next

    /// Where reduced point `k` of row or column `element` of panel `tile` is; of pairs an even one,
    /// the next point stands behind it.
    [[nodiscard]] AffineForm at(const AffineForm& tile, const AffineForm& k,
                                const AffineForm& element) const;
};

/// The number of a reduced point in row-major order.
[[nodiscard]] AffineForm reduced_point(const std::vector<Axis>& reduced);

/// Which operand is packed: columns are read as vectors and must be interleaved.
enum class Side : std::uint8_t { rows, columns };

/// Adds the step that packs an operand: tasks over panels, or over squares of rows; vectors along
/// the contiguous side, or squares of both.
[[nodiscard]] Panels pack(const Kernel& kernel, const Value& term, const std::vector<Axis>& batch,
                          const Tiling& tiling, Side side, Pairing pairing, const std::string& name,
                          PlanBuilder& builder);

}  // namespace ricci::codegen
