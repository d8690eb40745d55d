// codegen/gathered_rows.h – rows whose places are data: asked for before they are used
//
// Lanes run along k in `y[i,k] = A[J[i],k]` and in `A[J[i],k] += y[i,k]`. Which row comes next only
// J tells: no hardware fetches ahead of it, and a core looks ahead a row or two. Measured on Zen 5,
// rows of 1 KiB: a gather 5.4 ms, with prefetches 3.1 (copies of as many bytes 2.9); updates 6.5
// and 4.7.
#pragma once

#include <vector>

#include "base/target.h"
#include "codegen/kernel.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

/// Elements in lanes, from a place on that the other axes tell.
struct GatheredRow {
    BufferId buffer{};
    AffineForm affine;
    Value computed;  ///< safe to evaluate at every point of the axes
};

[[nodiscard]] std::vector<GatheredRow> gathered_rows(const Kernel& kernel, const Axis& lanes);

/// How many pieces of so many elements a turn of a loop along a row takes: what counts loops leaves
/// no room for the loads of further rows in a core's window. Rows of 1 KiB: a gather 3.0 ms by one
/// vector a turn, 2.6 by sixteen. They divide the row.
[[nodiscard]] std::int64_t side_by_side(std::int64_t extent, std::int64_t elements);

/// Whether its array is larger than the second-level cache: such rows are asked for ahead.
[[nodiscard]] bool is_far(const Kernel& kernel, const GatheredRow& row, const Target& target);

/// The prefetches of the rows that the axis `across` comes to a few points later, where the array
/// is larger than the second-level cache. `along` is the part of each row that is used. To stand
/// inside the loop of `across`.
[[nodiscard]] Body prefetch_rows(Kernel& kernel, const std::vector<GatheredRow>& rows,
                                 const Axis& across, const AxisRange& along, const Target& target);

}  // namespace ricci::codegen
