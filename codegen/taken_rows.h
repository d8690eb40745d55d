// codegen/taken_rows.h – rows of a tile that conditions leave at the points of a sum
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/contraction_choice.h"

namespace ricci::codegen {

/// Points that are written out: each has its own loops over what else is summed.
inline constexpr std::int64_t most_written_out = 16;

struct TakenRows {
    std::vector<Axis> axes;          ///< reduced ones, which say which rows are taken
    std::vector<std::int64_t> rows;  ///< how many at each of their points
};

/// Of a choice whose tiles hold all rows, where conditions tie these to few reduced points: tiles
/// write them out, each with its rows. Empty for any other choice, and where rows along one axis
/// are those of a padded image, which nearly all points take.
[[nodiscard]] TakenRows taken_rows(const Kernel& kernel, const ContractionChoice& choice);

/// What ties rows of a tile to the reduced points.
struct RowConditions {
    std::vector<AffineForm> tested;  ///< at least 0 where a row is taken
    std::vector<VarId> written_out;  ///< reduced axes, at whose points it is known which rows are
};

/// Takes the conditions of rows from a kernel: its own become those of any row of a tile, of which
/// `row_axis` is the first. Reduced axes that are written out come last: their points share lines
/// of columns, which are then read at once.
[[nodiscard]] RowConditions take_row_conditions(Kernel& kernel, const ContractionChoice& choice);

}  // namespace ricci::codegen
