// codegen/free_lanes.h – loops whose lanes run over a free axis
#pragma once

#include "codegen/side_by_side.h"

namespace ricci::codegen {

/// Loads that are done once for several points of a reduction.
struct SharedLoads {
    /// Those that move with the lanes alone: they are done before it and kept in registers.
    std::vector<Value> held = {};
    std::optional<Windows> windows = std::nullopt;
    std::optional<RowsOfLanes> rows = std::nullopt;
};

/// Gives the kernel its body: tasks over the outer free axes, serial loops, `unroll` vectors of
/// lanes over the chosen axis (full ones, then masked ones), the reduction inside.
void lower_free_lanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                      const SharedLoads& shared, const Target& target, Schedule& schedule);

}  // namespace ricci::codegen
