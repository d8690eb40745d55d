// codegen/row_loops.h – loops along a row in vectors, and accumulators folded at its end
#pragma once

#include <functional>
#include <vector>

#include "codegen/tile.h"

namespace ricci::codegen {

/// Vectors side by side along a row of `extent` elements of so many lanes: enough to hide the
/// latency of an addition, with no vector left over where that takes few. A multiple of `together`
/// where so many fit.
[[nodiscard]] std::int64_t vectors_side_by_side(std::int64_t extent, std::int64_t lanes,
                                                std::int64_t most, std::int64_t together = 1);

/// Code for the vectors whose first element stands at `start` of the axis.
using RowVectors =
    std::function<Body(const Axis& axis, const Lanes& lanes, const AffineForm& start)>;

/// What stands around the loop over whole turns of `unroll` vectors where few rows have any: it
/// makes all accumulators but the first vector's, and folds them into that.
using AroundFull = std::function<Body(Body full)>;

/// Loops over all points of a row; the last axis runs in vectors, `unroll` of them side by side
/// while so many are left, the rest masked. Rows whose ends do not move may be unrolled. Where the
/// ends are data, what is left is summed in the first vector.
[[nodiscard]] Body over_row(Nest& nest, const std::vector<ReducedLoop>& loops, std::int64_t lanes,
                            std::int64_t unroll, const RowVectors& vectors,
                            Bind bind = Bind::serial, const AroundFull& around_full = {});

/// All elements of the accumulator back to the identity.
[[nodiscard]] Body reset_all(Kernel& kernel, const Accumulator& accumulator, std::int64_t lanes,
                             std::int64_t unroll);

/// Folds `unroll` vectors of partial results into the first one. Not of argmax and argmin.
[[nodiscard]] Body halve(Kernel& kernel, const Accumulator& accumulator, std::int64_t lanes,
                         std::int64_t unroll, const AffineForm& first = form(0));

/// Folds `unroll` vectors of partial results, of which the first element is `first`, into the one
/// element of `total`.
[[nodiscard]] Body fold(Kernel& kernel, const Accumulator& accumulator, const Accumulator& total,
                        std::int64_t lanes, std::int64_t unroll, const AffineForm& first = form(0));

}  // namespace ricci::codegen
