// codegen/result_tile.h – results that are summed side by side, because they share loads
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Neighbouring points of a free axis.
struct TileAxis {
    Axis axis;
    std::int64_t points = 1;
};
/// Their box. Empty: one result after the other.
struct ResultTile {
    std::vector<TileAxis> axes;

    [[nodiscard]] std::int64_t results() const;
    /// How many of the results one load of that touch is for.
    [[nodiscard]] std::int64_t results_of(const Touch& touch) const;
};

/// The tile of at most `most` results that has the fewest loads a result at each reduced point, of
/// axes that the bounds of these do not move with.
[[nodiscard]] ResultTile choose_result_tile(const Kernel& kernel, const ReducedLoops& loops,
                                            std::int64_t most);

}  // namespace ricci::codegen
