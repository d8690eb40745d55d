// codegen/tile_blocks.cpp – how many tiles of a contraction a task runs over
#include "codegen/tile_blocks.h"

#include <algorithm>
#include <cmath>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

/// Streams that hardware prefetches into the second-level cache, one a page (Intel 64 and IA-32
/// Architectures Optimization Reference Manual, "Data Prefetch to L2 and L3 Caches").
constexpr double most_pages = 32;
constexpr double page_bytes = 4096;

/// Of what a tile reads of its rows or columns at all reduced points: at most what panels take,
/// less where elements that stand in place are shared.
double tile_bytes(const Kernel& kernel, const ContractionChoice& choice,
                  const std::vector<Operand>& operands, const std::vector<Reading>& readings,
                  const Axis& along) {
    const double panel = double(points(kernel.reduced)) * double(along.extent) *
                         double(size_bytes(panel_dtype(kernel, choice)));
    double bytes = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Value& term = operands[i].term;
        const auto* load = std::get_if<Load>(&term->term);
        if (readings[i] != Reading::in_place || load == nullptr || load->at.computed) {
            bytes += panel;
            continue;
        }
        std::vector<Axis> axes = kernel.reduced;
        axes.push_back(along);
        bytes += std::min(panel, double(line_bytes) * lines_along(*load, term->dtype, axes));
    }
    return bytes;
}

/// Pages that a row of a tile adds to those that its results are written to.
double pages_of_row(const Kernel& kernel, const ContractionChoice& choice) {
    double pages = 0;
    for (const Store& write : kernel.writes) {
        const auto bytes = double(size_bytes(kernel.nest.at(write.buffer).dtype));
        const std::int64_t step = write.at.affine.coefficient(choice.row_axis.var);
        pages += std::min(1.0, std::abs(double(step)) * bytes / page_bytes);
    }
    return pages;
}

}  // namespace

double tile_cycles(const Kernel& kernel, const ContractionChoice& choice) {
    const auto area = double(choice.rows_of_tile() * choice.tile.vectors);
    return double(points(kernel.reduced)) * area * vector_cycles(kernel, choice);
}

Blocks choose_blocks(const Kernel& kernel, const ContractionChoice& choice, const Blocks& tiles,
                     const Target& target) {
    const double cycles = tile_cycles(kernel, choice);
    // Large blocks read the panels of large products less often from memory, and still leave a
    // hundred tasks.
    const double wanted =
        choice.blocks *
        std::clamp(cycles * double(choice.tiles) / 128, task_cycles, 64 * task_cycles) / cycles;
    const double tiles_a_side = std::sqrt(std::max(1.0, wanted));
    const double cached = 0.25 * double(target.l2_bytes);
    const auto side = [&](double wanted_tiles, double bytes, std::int64_t most) {
        const auto count =
            std::int64_t(std::min({wanted_tiles, std::max(1.0, cached / bytes), double(most)}));
        // Equal blocks: the last one should not be a sliver.
        return ceil_div(most, ceil_div(most, std::max<std::int64_t>(count, 1)));
    };
    const Contraction& c = choice.contraction;
    const double row_bytes = tile_bytes(kernel, choice, c.row_operands, choice.rows,
                                        {choice.row_axis.var, choice.rows_of_tile()});
    const double column_bytes = tile_bytes(kernel, choice, c.column_operands, choice.columns,
                                           {c.lane.var, choice.tile.columns()});
    const double most_row_tiles =
        std::max(1.0, most_pages / (double(choice.tile.rows) * pages_of_row(kernel, choice)));
    Blocks blocks;
    blocks.column_tiles =
        side(std::max(tiles_a_side, wanted / most_row_tiles), column_bytes, tiles.column_tiles);
    blocks.row_tiles = side(std::min(most_row_tiles, wanted / double(blocks.column_tiles)),
                            row_bytes, tiles.row_tiles);
    return blocks;
}

}  // namespace ricci::codegen
