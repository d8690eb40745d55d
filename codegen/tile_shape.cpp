// codegen/tile_shape.cpp – how many accumulators a contraction's tile has, and tiles a task
#include "codegen/tile_shape.h"

#include <algorithm>
#include <cmath>

#include "base/integer.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

TileShape choose_tile(const Contraction& contraction, std::int64_t row_extent, std::int64_t lanes,
                      const Target& target, Rows allowed) {
    constexpr std::int64_t most_rows = 14;
    std::int64_t per_element = 1;
    std::int64_t per_row = 0;
    auto per_column = std::int64_t(contraction.column_operands.size());
    for (const Operand& held : contraction.held) {
        if (held.has_rows && held.has_columns)
            ++per_element;
        else if (held.has_rows)
            ++per_row;
        else
            ++per_column;
    }
    TileShape best{1, 1, lanes};
    double best_score = 0;
    const std::int64_t row_axis = std::max<std::int64_t>(row_extent, 1);
    std::int64_t fewest = row_axis;
    for (std::int64_t vectors = 1; vectors <= 3; ++vectors) {
        if ((vectors - 1) * lanes >= contraction.lane.extent) break;
        // Two for products in progress; a body of three operands has its inner result, too.
        const std::int64_t left =
            target.vector_registers - (per_element > 1 ? 4 : 2) - vectors * per_column;
        const std::int64_t most = std::min(left / (vectors * per_element + per_row), most_rows);
        if (most < 1) continue;
        const std::int64_t tiles = ceil_div(row_axis, most);
        if (allowed == Rows::most && vectors > 1 && tiles > fewest) continue;
        fewest = std::min(fewest, tiles);
        std::int64_t rows = ceil_div(row_axis, tiles);
        if (allowed == Rows::whole)
            for (rows = std::min(most, row_axis); row_axis % rows != 0;) --rows;
        const std::int64_t width = vectors * lanes;
        const double filled = double(contraction.lane.extent) /
                              double(ceil_div(contraction.lane.extent, width) * width) *
                              double(row_axis) / double(ceil_div(row_axis, rows) * rows);
        // Eight accumulators hide the latency of an fma; loads take slots beside it.
        const auto area = double(rows * vectors);
        const double score =
            filled * std::min(1.0, area / 8) * area / (area + 0.1 * double(rows + vectors));
        if (score <= best_score) continue;
        best_score = score;
        best = {rows, vectors, lanes};
    }
    return best;
}

Blocks choose_blocks(const TileShape& tile, std::int64_t row_tiles, std::int64_t column_tiles,
                     const TileCost& cost, const Target& target) {
    // Large blocks read the panels of large products less often from memory, and still leave a
    // hundred tasks.
    const double wanted = std::clamp(cost.all / 128, task_cycles, 64 * task_cycles) / cost.tile;
    const double fitting = 0.5 * double(target.l2_bytes) / cost.line_bytes;
    const double tiles_a_side = std::sqrt(std::max(1.0, wanted));
    const auto side = [&](double tiles, std::int64_t step, std::int64_t most) {
        const double cached = std::max(1.0, fitting / double(2 * step));
        const auto count = std::int64_t(std::min({tiles, cached, double(most)}));
        // Equal blocks: the last one should not be a sliver.
        return ceil_div(most, ceil_div(most, std::max<std::int64_t>(count, 1)));
    };
    Blocks blocks;
    blocks.column_tiles = side(tiles_a_side, tile.columns(), column_tiles);
    blocks.row_tiles = side(wanted / double(blocks.column_tiles), tile.rows, row_tiles);
    return blocks;
}

}  // namespace ricci::codegen
