// codegen/tile_blocks.h – how many tiles of a contraction a task runs over, and along which side
#pragma once

#include <cstdint>
#include <limits>

#include "codegen/contraction_choice.h"

namespace ricci::codegen {

/// How many tiles there are of rows and of columns.
struct TileCounts {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
};

/// Tiles of a block in each direction, and how tasks are made of blocks.
struct Blocks {
    std::int64_t row_tiles = 1;
    std::int64_t column_tiles = 1;
    bool are_rows_outermost = false;  ///< tasks are cut along rows first, else along columns
    std::int64_t most_tasks = std::numeric_limits<std::int64_t>::max();
    std::int64_t least_tasks_of_panels = 1;
};

/// Cycles of a tile's sums, loads apart.
[[nodiscard]] double tile_cycles(const Kernel& kernel, const ContractionChoice& choice,
                                 const Target& target);

/// Bytes of operands that a tile reads at all reduced points, roughly.
[[nodiscard]] double bytes_of_tile(const Kernel& kernel, const ContractionChoice& choice);

/// Blocks of the tiles that there are, each enough work for a task, whose panels stay in the
/// second-level cache. Several tiles of rows write to no more pages of results side by side than
/// hardware follows. Of products that the second-level cache holds, two and four threads read the
/// panels that they packed, as far as tasks can be cut so; one thread does all where a second one
/// would wait for panels longer than it saves.
[[nodiscard]] Blocks choose_blocks(const Kernel& kernel, const ContractionChoice& choice,
                                   const TileCounts& tiles, const Target& target);

}  // namespace ricci::codegen
