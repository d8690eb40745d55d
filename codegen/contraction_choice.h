// codegen/contraction_choice.h – a contraction with the tiles it runs in, and what follows from
// them
#pragma once

#include <optional>
#include <vector>

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
[[nodiscard]] bool is_some_packed(const std::vector<Reading>& readings);

struct ContractionChoice {
    Contraction contraction;
    /// The kernel that is contracted, where two of the free axes are one: the lane axis.
    std::optional<Flattened> flattened = std::nullopt;
    Axis row_axis = {};  ///< the one of the rows that is tiled: the longest, or one of short ones
    /// Shorter axes of the rows that each tile has whole, beside all of `row_axis`: its rows are
    /// the points of all of these.
    std::vector<Axis> whole_rows = {};
    TileShape tile = {};                ///< rows: along `row_axis`
    std::vector<Reading> rows = {};     ///< by row operand
    std::vector<Reading> columns = {};  ///< by column operand
    Pairing pairing = Pairing::none;    ///< pairs: both operands are packed, in bf16
    std::int64_t tiles = 0;
    double cycles = 0;  ///< of the tiles and of packing, roughly
    double packing_cycles = 0;
    double blocks = 1;        ///< tiles of a task, in parts of what is usual
    bool is_careful = false;  ///< some numbers are not finite: no short way round masks

    /// Rows of accumulators.
    [[nodiscard]] std::int64_t rows_of_tile() const { return tile.rows * points(whole_rows); }
};

/// Whether a product is added to its sum by one multiply-add.
[[nodiscard]] bool has_fused_sums(const Kernel& kernel, const Target& target);

/// Whether the extremes are of sums that are multiply-adds with a 1 (codegen/nan_makers.h).
[[nodiscard]] bool compares_fused_sums(const Kernel& kernel, const Contraction& contraction,
                                       const Target& target);

/// Whether a panel of rows or of columns, whichever run along `along`, has single elements of
/// lines: their neighbours are those of other panels.
[[nodiscard]] bool packs_single_elements(const Kernel& kernel, const std::vector<Operand>& operands,
                                         const std::vector<Reading>& readings, const Axis& along);

/// Whether conditions tie the reduced axes to the batch alone.
[[nodiscard]] bool are_conditions_of_batch(const Kernel& kernel, const Contraction& contraction);

/// Whether rows of a tile find at each of many reduced points whether a condition leaves them out.
/// Of a few, as the taps of a convolution, it is known when the kernel is compiled.
[[nodiscard]] bool has_conditional_rows(const Kernel& kernel, const ContractionChoice& choice);

/// The type of the elements of panels.
[[nodiscard]] DType panel_dtype(const Kernel& kernel, const ContractionChoice& choice);

/// Whether vectors of so many lanes fill at most half of the target's registers, and are computed
/// in half the time.
[[nodiscard]] bool is_half_vector(const Kernel& kernel, std::int64_t lanes, const Target& target);
/// Whether estimates count a multiply-add as the one operation that it is: AVX2. Those of AVX-512
/// take two where its units are half as wide as its vectors (Zen 4); where they are not (Intel, Zen
/// 5), what memory takes was measured by estimates that count two all the same.
[[nodiscard]] bool counts_one_operation(const Kernel& kernel, const Target& target);
/// Cycles of a vector of accumulators at a reduced point, loads apart: two operations a cycle.
[[nodiscard]] double vector_cycles(const Kernel& kernel, const ContractionChoice& choice,
                                   const Target& target);
/// What a schedule says of the tile. The reduced axes are in the order in which they are walked.
[[nodiscard]] std::vector<Directive> tile_directives(const Kernel& kernel,
                                                     const ContractionChoice& choice);

/// Chunks of the reduced points whose panel of columns stays in the second-level cache while all
/// tiles of rows read it; 1: the panel is small enough, or the chunks' results would be many.
[[nodiscard]] std::int64_t chunks_in_cache(const Kernel& kernel, const ContractionChoice& choice,
                                           const Target& target);

}  // namespace ricci::codegen
