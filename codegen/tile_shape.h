// codegen/tile_shape.h – how many accumulators a contraction's tile has
#pragma once

#include <cstdint>
#include <vector>

#include "base/target.h"
#include "codegen/contraction.h"

namespace ricci::codegen {

/// The vectors that rows of tiles are made of.
struct RowVectors {
    std::int64_t lanes = 1;
    bool is_half = false;    ///< of the target's widest, and computed in half the time
    bool is_masked = false;  ///< conditions leave lanes out: a mask, or zeros, in a register
    bool is_fused = false;   ///< a product is added to its sum by one multiply-add
    bool has_one = false;    ///< sums are multiply-adds with a 1, beside comparisons
};
/// Of a row of a tile, at most: three of a product, else four; of half ones twice as many. More
/// share a row's scalar, which takes an issue slot beside the operations of its vectors: squared
/// distances take Zen 4 18.9 ms with four, 21.4 with two (bench_cpu --threads 1 dist); products
/// are as fast with two.
[[nodiscard]] std::int64_t most_vectors(const Contraction& contraction, bool is_half);

/// Rows by vectors of lanes of accumulators.
struct TileShape {
    std::int64_t rows = 1;
    std::int64_t vectors = 1;
    std::int64_t lanes = 1;
    [[nodiscard]] std::int64_t columns() const { return vectors * lanes; }
};

/// Every tile whose accumulators, held terms and line fit into the registers, or a single vector.
[[nodiscard]] std::vector<TileShape> all_tiles(const Contraction& contraction,
                                               std::int64_t row_extent, const RowVectors& of_row,
                                               const Target& target);

/// Tiles of exactly so many rows, for each number of vectors with which registers hold them.
[[nodiscard]] std::vector<TileShape> tiles_of_rows(const Contraction& contraction,
                                                   std::int64_t rows, const RowVectors& of_row,
                                                   const Target& target);

/// Those of as many rows as registers hold, in equal tiles or in tiles that leave no row over, for
/// each number of vectors. AVX-512: up to 14 x 2 for a product, 6 x 2 or 3 x 4 with one held term.
[[nodiscard]] std::vector<TileShape> large_tiles(const Contraction& contraction,
                                                 std::int64_t row_extent, const RowVectors& of_row,
                                                 const Target& target);

}  // namespace ricci::codegen
