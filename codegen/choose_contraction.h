// codegen/choose_contraction.h – which contraction a kernel is to a CPU, and in which tiles it runs
#pragma once

#include <optional>

#include "codegen/contraction.h"
#include "codegen/flatten.h"
#include "codegen/schedule.h"
#include "codegen/tile_shape.h"

namespace ricci::codegen {

/// Where tiles read an operand.
enum class Reading : std::uint8_t {
    packed,    ///< from panels
    in_place,  ///< where it stands
};

struct ContractionChoice {
    Contraction contraction;
    /// The kernel that is contracted, where two of the free axes are one: the lane axis.
    std::optional<Flattened> flattened = std::nullopt;
    Axis row_axis;  ///< the one of the rows that is tiled: the longest
    /// Axes of the rows that each tile has whole, beside all of a short row axis: its rows are the
    /// points of all of these.
    std::vector<Axis> whole_rows = {};
    TileShape tile;                   ///< rows: along `row_axis`
    std::vector<Reading> rows;        ///< by row operand
    std::vector<Reading> columns;     ///< by column operand
    Pairing pairing = Pairing::none;  ///< pairs: both operands are packed, in bf16
    std::int64_t tiles = 0;
    double cycles = 0;  ///< of the tiles and of packing, roughly
    double packing_cycles = 0;
    double blocks = 1;  ///< tiles of a task, in parts of what is usual

    /// Rows of accumulators.
    [[nodiscard]] std::int64_t rows_of_tile() const { return tile.rows * points(whole_rows); }
};

/// The type of the elements of panels.
[[nodiscard]] DType panel_dtype(const Kernel& kernel, const ContractionChoice& choice);

/// Cycles of a vector of accumulators at a reduced point, loads apart: two operations a cycle.
[[nodiscard]] double vector_cycles(const Kernel& kernel, const ContractionChoice& choice);
/// What a schedule says of the tile. The reduced axes are in the order in which they are walked.
[[nodiscard]] std::vector<Directive> tile_directives(const Kernel& kernel,
                                                     const ContractionChoice& choice);

/// Whether conditions tie the reduced axes to the batch alone.
[[nodiscard]] bool are_conditions_of_batch(const Kernel& kernel, const Contraction& contraction);

/// Nothing when the kernel is no contraction, or one that is too small or too large for panels.
///
/// Conditions may move the bounds of the reduced axes along every free axis; what they say of the
/// tiled rows must be inequalities, of single lanes inequalities over columns that are read where
/// they stand. The lanes run along `lane`, if it is given.
[[nodiscard]] std::optional<ContractionChoice> choose_contraction(
    const Kernel& kernel, const Target& target, const std::optional<Axis>& lane = std::nullopt);

/// The choices that give each element of the result by the same operations in the same order as
/// `usual` does, which comes first: other tiles, other places to read from, and lanes along `lane`.
[[nodiscard]] std::vector<ContractionChoice> equal_choices(const Kernel& kernel,
                                                           const ContractionChoice& usual,
                                                           const Target& target,
                                                           const std::optional<Axis>& lane);

/// Chunks of the reduced points whose panel of columns stays in the second-level cache while all
/// tiles of rows read it; 1: the panel is small enough, or the chunks' results would be many.
[[nodiscard]] std::int64_t chunks_in_cache(const Kernel& kernel, const ContractionChoice& choice,
                                           const Target& target);

}  // namespace ricci::codegen
