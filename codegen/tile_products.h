// codegen/tile_products.h – sums of products as products of tiles of bf16 numbers
//
// Where the target multiplies tiles (AMX), a contraction whose operands are numbers of bf16, or of
// f32 that may be taken as a sum of bf16 pieces (`Target::precision`), runs 16 or 32 rows by 16 or
// 32 columns at a time. The row side is read as rows of reduced points, in place or from a copy
// that is filled up to blocks of 32 points; the column side from panels of pairs (codegen/pack.h).
// Products of pieces below the last bits of what is wanted are left out: three of two pieces each,
// six of three.
#pragma once

#include "codegen/contraction.h"
#include "codegen/lower.h"

namespace ricci::codegen {

/// The extent with what fills its last block of reduced points.
[[nodiscard]] std::int64_t filled(std::int64_t extent);

/// Rows and columns of a tile product, and its cost.
struct TileProductShape {
    std::int64_t rows = tile_side;
    std::int64_t columns = tile_side;
    double cycles = 0;  ///< of one block of points
};

/// A kernel whose body is a product of a row and a column operand, each one or more pieces of bf16.
struct TiledProduct {
    Contraction contraction;
    Axis row_axis;              ///< the one of the rows that is tiled: the longest
    std::vector<Axis> reduced;  ///< the last one is cut into blocks of 32 points
    std::size_t row_pieces = 1;
    std::size_t column_pieces = 1;
    std::size_t most_pieces = 1;  ///< that the target's precision gives an f32 number
    TileProductShape shape;
    std::int64_t tiles = 0;
    double cycles = 0;  ///< of everything, roughly

    /// Reduced points, with those that fill the last axis' blocks.
    [[nodiscard]] std::int64_t depth() const;
    [[nodiscard]] std::int64_t blocks() const;
    /// Which pieces are multiplied, (row, column): those of row + column < `most_pieces`.
    [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> products() const;
};

/// Whether the row operand is read where it stands: points are neighbours, rows whole tiles
/// in many sets of the caches.
[[nodiscard]] bool may_rows_stay(const TiledProduct& product);

/// Nothing when the kernel is no such product, or the target has no tiles.
[[nodiscard]] std::optional<TiledProduct> find_tiled_product(const Kernel& kernel,
                                                             const Target& target);

/// Adds the steps of such a kernel.
void lower_tiled_product(const Kernel& kernel, TiledProduct product, PlanBuilder& builder);

}  // namespace ricci::codegen
