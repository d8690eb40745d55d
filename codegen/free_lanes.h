// codegen/free_lanes.h – loops whose lanes run over a free axis
#pragma once

#include "codegen/lower.h"

namespace ricci::codegen {

/// Gives the kernel its body: tasks over the outer free axes, serial loops, `unroll` vectors of
/// lanes over the chosen axis (full ones, then single masked ones), the reduction inside.
void lower_free_lanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                      Schedule& schedule);

}  // namespace ricci::codegen
