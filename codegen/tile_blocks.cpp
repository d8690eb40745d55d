// codegen/tile_blocks.cpp – how many tiles of a contraction a task runs over, and along which side
#include "codegen/tile_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Streams that hardware prefetches into the second-level cache, one a page (Intel 64 and IA-32
/// Architectures Optimization Reference Manual, "Data Prefetch to L2 and L3 Caches").
constexpr double most_pages = 32;
/// Two and four threads take equal shares of these.
constexpr std::int64_t most_tasks_of_panels = 4;

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

double bytes_of_rows(const Kernel& kernel, const ContractionChoice& choice) {
    return tile_bytes(kernel, choice, choice.contraction.row_operands, choice.rows,
                      {choice.row_axis.var, choice.rows_of_tile()});
}

double bytes_of_columns(const Kernel& kernel, const ContractionChoice& choice) {
    return tile_bytes(kernel, choice, choice.contraction.column_operands, choice.columns,
                      {choice.contraction.lane.var, choice.tile.columns()});
}

/// Pages that a row of a tile adds to those that its results are written to.
double pages_of_row(const Kernel& kernel, const ContractionChoice& choice) {
    double pages = 0;
    for (const Store& write : kernel.writes) {
        const auto bytes = double(size_bytes(kernel.nest.at(write.buffer).dtype));
        const std::int64_t step = write.at.affine.coefficient(choice.row_axis.var);
        pages += std::min(1.0, std::abs(double(step)) * bytes / double(page_bytes));
    }
    return pages;
}

/// One side of a contraction: its rows or its columns.
struct TiledSide {
    std::int64_t tiles = 1;
    double bytes = 0;  ///< that a tile reads
    bool is_packed = false;
    double most_tiles = std::numeric_limits<double>::infinity();  ///< of a block

    [[nodiscard]] double all_bytes() const { return bytes * double(tiles); }
    [[nodiscard]] double packed_bytes() const { return is_packed ? all_bytes() : 0; }
};

class BlockChooser {
  public:
    BlockChooser(const Kernel& kernel, const ContractionChoice& choice, const TileCounts& tiles,
                 const Target& target)
        : choice_(choice),
          target_(target),
          rows_{tiles.rows, 0, is_some_packed(choice.rows)},
          columns_{tiles.columns, 0, is_some_packed(choice.columns)} {
        rows_.bytes = bytes_of_rows(kernel, choice);
        columns_.bytes = bytes_of_columns(kernel, choice);
        rows_.most_tiles =
            std::max(1.0, most_pages / (double(choice.tile.rows) * pages_of_row(kernel, choice)));
        const double cycles = tile_cycles(kernel, choice, target);
        all_cycles_ = cycles * double(choice.tiles);
        // Large blocks read the panels of large products less often from memory, and still leave a
        // hundred tasks.
        wanted_ =
            choice.blocks * std::clamp(all_cycles_ / 128, task_cycles, 64 * task_cycles) / cycles;
    }

    [[nodiscard]] Blocks run() const {
        const bool is_one_product = choice_.tiles == rows_.tiles * columns_.tiles;
        const bool is_near = rows_.all_bytes() + columns_.all_bytes() <= double(target_.l2_bytes);
        if (is_one_product && is_near && (rows_.is_packed || columns_.is_packed)) return of_near();
        Blocks blocks;
        const double a_side = std::sqrt(std::max(1.0, wanted_));
        blocks.column_tiles = of_block(columns_, std::max(a_side, wanted_ / rows_.most_tiles));
        blocks.row_tiles = of_block(rows_, wanted_ / double(blocks.column_tiles));
        return blocks;
    }

  private:
    /// So many tiles, or as many as a cache and the side allow.
    [[nodiscard]] std::int64_t of_block(const TiledSide& side, double wanted) const {
        const double cached = 0.25 * double(target_.l2_bytes);
        const auto count = std::int64_t(std::min(
            {wanted, side.most_tiles, std::max(1.0, cached / side.bytes), double(side.tiles)}));
        // Equal blocks: the last one should not be a sliver.
        return ceil_div(side.tiles, ceil_div(side.tiles, std::max<std::int64_t>(count, 1)));
    }
    /// Tasks are cut along the side with more panels, each of which one thread packs and reads.
    [[nodiscard]] Blocks of_near() const {
        Blocks blocks;
        blocks.are_rows_outermost = rows_.packed_bytes() > columns_.packed_bytes();
        const TiledSide& outer = blocks.are_rows_outermost ? rows_ : columns_;
        const TiledSide& inner = blocks.are_rows_outermost ? columns_ : rows_;
        std::int64_t tasks = tasks_for(all_cycles_);
        // Of two threads each reads what the other has packed; of one panel one all of it.
        const double read = outer.tiles > 1 ? inner.packed_bytes() / 2 : outer.packed_bytes();
        if (read / double(line_bytes) * handing_over_cycles > all_cycles_ / 2)
            blocks.most_tasks = tasks = 1;
        blocks.least_tasks_of_panels = std::min(tasks, most_tasks_of_panels);
        const double a_task = std::min(wanted_, double(choice_.tiles) / double(tasks));
        const std::int64_t inner_tiles = of_block(inner, a_task);
        // More blocks than two and four threads ask for would read panels less often each.
        const auto least_blocks = double(std::min(blocks.least_tasks_of_panels, outer.tiles));
        const std::int64_t outer_tiles = of_block(
            outer, std::min(a_task / double(inner_tiles), double(outer.tiles) / least_blocks));
        blocks.row_tiles = blocks.are_rows_outermost ? outer_tiles : inner_tiles;
        blocks.column_tiles = blocks.are_rows_outermost ? inner_tiles : outer_tiles;
        return blocks;
    }

    const ContractionChoice& choice_;
    const Target& target_;
    TiledSide rows_;
    TiledSide columns_;
    double all_cycles_ = 0;
    double wanted_ = 0;  ///< tiles of a task
};

}  // namespace

double tile_cycles(const Kernel& kernel, const ContractionChoice& choice, const Target& target) {
    const auto area = double(choice.rows_of_tile() * choice.tile.vectors);
    return double(points(kernel.reduced)) * area * vector_cycles(kernel, choice, target);
}

double bytes_of_tile(const Kernel& kernel, const ContractionChoice& choice) {
    return bytes_of_rows(kernel, choice) + bytes_of_columns(kernel, choice);
}

Blocks choose_blocks(const Kernel& kernel, const ContractionChoice& choice, const TileCounts& tiles,
                     const Target& target) {
    return BlockChooser(kernel, choice, tiles, target).run();
}

}  // namespace ricci::codegen
