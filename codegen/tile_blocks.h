// codegen/tile_blocks.h – how many tiles of a contraction a task runs over
#pragma once

#include "codegen/choose_contraction.h"

namespace ricci::codegen {

/// Tiles in each direction.
struct Blocks {
    std::int64_t row_tiles = 1;
    std::int64_t column_tiles = 1;
};

/// Cycles of a tile's sums, loads apart.
[[nodiscard]] double tile_cycles(const Kernel& kernel, const ContractionChoice& choice);

/// Blocks whose panels stay in the second-level cache, each enough work for a task, of the tiles
/// that there are. Their rows of results are few where each is in pages of its own: what is read
/// ahead and written behind goes by pages.
[[nodiscard]] Blocks choose_blocks(const Kernel& kernel, const ContractionChoice& choice,
                                   const Blocks& all, const Target& target);

}  // namespace ricci::codegen
