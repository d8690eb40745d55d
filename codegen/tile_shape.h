// codegen/tile_shape.h – how many accumulators a contraction's tile has
#pragma once

#include <cstdint>

#include "base/target.h"
#include "codegen/contraction.h"

namespace ricci::codegen {

/// Rows by vectors of lanes of accumulators.
struct TileShape {
    std::int64_t rows = 1;
    std::int64_t vectors = 1;
    std::int64_t lanes = 1;
    [[nodiscard]] std::int64_t columns() const { return vectors * lanes; }
};

/// How many rows a tile may have.
enum class Rows : std::uint8_t {
    any,    ///< the last tile of an axis may be part empty
    whole,  ///< a divisor of the axis: rows that are read where they stand
    most,   ///< so many that the fewest tiles take them: columns that are read where they stand
};

/// The tile that does most operations a load: all registers but two, or four with terms held for
/// each element, hold accumulators, held terms and the column operands' line. AVX-512: 14 x 2 for
/// a product, 6 x 2 with one held term.
[[nodiscard]] TileShape choose_tile(const Contraction& contraction, std::int64_t row_extent,
                                    std::int64_t lanes, const Target& target, Rows allowed);

}  // namespace ricci::codegen
