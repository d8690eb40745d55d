// codegen/scan_rows.h – which rows of a walk are lanes
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/scan_walk.h"

namespace ricci::codegen {

/// The rows that are lanes.
struct RowLanes {
    std::optional<Axis> axis;  ///< none: one row after the other
    std::int64_t lanes = 1;
    std::int64_t unroll = 1;   ///< vectors of them
    bool has_squares = false;  ///< points stand side by side, not rows
};

[[nodiscard]] RowLanes choose_row_lanes(const Kernel& kernel, const ScanWalk& walk,
                                        const Target& target);

/// A value, and the axis along which it is evaluated.
struct Along {
    Value value = nullptr;
    Axis axis;
};
/// What of the values stays along their axes, moves with the rows, and is more than a load of
/// elements side by side: each as large as may be. Both sides of a choice are evaluated at every
/// point, so that what stands in one may be evaluated before.
[[nodiscard]] std::vector<Value> staying_values(const std::vector<Along>& values, const Axis& rows);

}  // namespace ricci::codegen
