// codegen/free_lanes.h – loops whose lanes run over a free axis
#pragma once

#include "codegen/lower.h"

namespace ricci::codegen {

/// Gives the kernel its body: tasks over the outer free axes, serial loops, `unroll` vectors of
/// lanes over the chosen axis (full ones, then masked ones), the reduction inside. The loads
/// `held` move with the lanes alone: they are done before the reduction and kept in registers.
void lower_free_lanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                      const std::vector<Value>& held, const Target& target, Schedule& schedule);

}  // namespace ricci::codegen
