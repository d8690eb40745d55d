// codegen/lower_strided_reduction.cpp – lanes over a free axis, the reduction serial inside
#include <algorithm>

#include "base/integer.h"
#include "codegen/free_lanes.h"
#include "codegen/lower.h"

namespace ricci::codegen {

namespace {

/// From so many reduced points on, rows are read from memory rather than from a cache.
constexpr std::int64_t long_reduction = 256;

/// Four sums side by side hide the latency of an addition. Of a long reduction, more of them read
/// more of each row at once: pages and prefetches count there.
std::int64_t sums_side_by_side(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    if (!lanes.axis || kernel.is_arg_reduction()) return 1;
    if (lanes.is_masked)
        return std::clamp<std::int64_t>(ceil_div(lanes.axis->extent, lanes.lanes), 1, 4);
    const std::int64_t vectors = lanes.axis->extent / lanes.lanes;
    const std::int64_t most = target.vector_registers / 2;
    if (points(kernel.reduced) >= long_reduction)
        for (std::int64_t sums = std::min(most, vectors); sums > 4; --sums)
            if (vectors % sums == 0) return sums;
    return std::clamp<std::int64_t>(vectors, 1, 4);
}

}  // namespace

void lower_strided_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::strided_reduction, kernel.nest.name, {}};
    const std::int64_t unroll = sums_side_by_side(kernel, lanes, builder.target());
    lower_free_lanes(kernel, lanes, unroll, schedule);
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
