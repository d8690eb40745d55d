// codegen/tile_shape.h – how many accumulators a contraction's tile has, and tiles a task
#pragma once

#include <cstdint>
#include <vector>

#include "base/target.h"
#include "codegen/contraction.h"

namespace ricci::codegen {

/// Vectors of a row of a tile, at most.
constexpr std::int64_t most_vectors = 3;

/// Rows by vectors of lanes of accumulators.
struct TileShape {
    std::int64_t rows = 1;
    std::int64_t vectors = 1;
    std::int64_t lanes = 1;
    [[nodiscard]] std::int64_t columns() const { return vectors * lanes; }
};

/// Tiles that a task runs over, in each direction.
struct Blocks {
    std::int64_t row_tiles = 1;
    std::int64_t column_tiles = 1;
};

/// What tiles take: cycles of one and of all together, bytes of a row or column at all reduced
/// points.
struct TileCost {
    double tile = 0;
    double all = 0;
    double line_bytes = 0;
    double share = 1;  ///< of the usual number of tiles that a task is to have
};

/// Blocks whose panels stay in the second-level cache, each enough work for a task.
[[nodiscard]] Blocks choose_blocks(const TileShape& tile, std::int64_t row_tiles,
                                   std::int64_t column_tiles, const TileCost& cost,
                                   const Target& target);

/// Every tile whose accumulators, held terms and line fit into the registers.
[[nodiscard]] std::vector<TileShape> all_tiles(const Contraction& contraction,
                                               std::int64_t row_extent, std::int64_t lanes,
                                               const Target& target);

/// Tiles of exactly so many rows, for each number of vectors with which registers hold them.
[[nodiscard]] std::vector<TileShape> tiles_of_rows(const Contraction& contraction,
                                                   std::int64_t rows, std::int64_t lanes,
                                                   const Target& target);

/// Those of as many rows as registers hold, in equal tiles or in tiles that leave no row over, for
/// each number of vectors. AVX-512: up to 14 x 2 for a product, 6 x 2 with one held term.
[[nodiscard]] std::vector<TileShape> large_tiles(const Contraction& contraction,
                                                 std::int64_t row_extent, std::int64_t lanes,
                                                 const Target& target);

}  // namespace ricci::codegen
