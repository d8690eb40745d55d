// codegen/lower_strided_reduction.cpp – lanes over a free axis, the reduction serial inside
#include <algorithm>

#include "codegen/free_lanes.h"
#include "codegen/lower.h"

namespace ricci::codegen {

void lower_strided_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::strided_reduction, kernel.nest.name, {}};
    // Four sums side by side hide the latency of an addition and use whole cache lines of a row.
    std::int64_t unroll = 1;
    if (lanes.axis && !kernel.is_arg_reduction())
        unroll = std::clamp<std::int64_t>(lanes.axis->extent / lanes.lanes, 1, 4);
    lower_free_lanes(kernel, lanes, unroll, schedule);
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
