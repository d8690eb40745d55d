// codegen/tile_shape.h – how many accumulators a contraction's tile has
#pragma once

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

/// The tile that does most operations a load: all registers but two hold accumulators, held terms
/// and the column operands' line. AVX-512: 14 x 2 for a product, 7 x 2 with one held term.
[[nodiscard]] TileShape choose_tile(const Contraction& contraction, std::int64_t row_extent,
                                    std::int64_t lanes, const Target& target);

}  // namespace ricci::codegen
