// codegen/lower_strided_reduction.cpp – lanes over a free axis, the reduction serial inside
#include <algorithm>

#include "base/integer.h"
#include "codegen/busy_units.h"
#include "codegen/free_lanes.h"
#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"
#include "codegen/repeated_broadcasts.h"

namespace ricci::codegen {

namespace {

/// Four sums side by side hide the latency of an addition: what a row has beside whole vectors is
/// summed with them where that gives no more, since a vector alone takes as long. Of a long
/// reduction, more of them read more of each row at once: pages and prefetches count there.
std::int64_t sums_side_by_side(const Kernel& kernel, const LanePlan& lanes, std::int64_t most) {
    if (!lanes.axis) return 1;
    if (lanes.is_masked)
        return std::clamp<std::int64_t>(ceil_div(lanes.axis->extent, lanes.lanes), 1, 4);
    const std::int64_t vectors = lanes.axis->extent / lanes.lanes;
    if (points(kernel.reduced) >= long_reduction)
        for (std::int64_t sums = std::min(most, vectors); sums > 4; --sums)
            if (vectors % sums == 0) return sums;
    return vectors < 4 ? ceil_div(lanes.axis->extent, lanes.lanes) : 4;
}

/// Loads that move with the lanes but with no reduced axis, and are inside their arrays.
std::vector<Value> held_loads(const Kernel& kernel, const LanePlan& lanes) {
    std::vector<Value> found;
    if (!lanes.axis || lanes.is_masked || points(kernel.reduced) < long_reduction) return found;
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr || !depends_on(value, lanes.axis->var) ||
            !is_inside_everywhere(kernel, value))
            return;
        if (std::ranges::none_of(kernel.reduced, [&](const Axis& axis) {
                return load->at.affine.coefficient(axis.var) != 0;
            }))
            found.push_back(value);
    });
    return found;
}

/// What all lanes of several vectors share is broadcast anew for each.
void broadcast_shared_loads(Kernel& kernel, const LanePlan& lanes, const SharedLoads& loads,
                            const Target& target) {
    std::vector<Value> shared;
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load && !load->at.computed && !depends_on(value, lanes.axis->var))
            shared.push_back(value);
    });
    const RepeatedBroadcasts repeated =
        repeat_broadcasts(kernel, kernel.body, shared, loads.held, target);
    const auto buffer = [](const Value& load) { return std::get<Load>(load->term).buffer; };
    for (const Value& load : repeated.values)
        if (std::ranges::all_of(shared, [&](const Value& other) {
                return buffer(other) != buffer(load) || repeated.has(other);
            }))
            broadcast_anew(kernel.nest, load);
    kernel.body = repeated.body;
}

}  // namespace

void lower_strided_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::strided_reduction, kernel.nest.name, work_of(kernel)};
    const std::int64_t registers = builder.target().vector_registers;
    SharedLoads shared{.held = held_loads(kernel, lanes)};
    // Some registers are left for what the body computes.
    std::int64_t most = registers / 2 / kernel.joint_kernels;
    const std::int64_t with_held =
        (registers - registers / 4) / kernel.joint_kernels / std::int64_t(1 + shared.held.size());
    if (with_held < 2)
        shared.held.clear();
    else
        most = std::min(most, with_held);
    std::int64_t unroll = sums_side_by_side(kernel, lanes, most);
    if (shared.held.empty())
        shared.windows = share_windows(kernel, lanes, unroll, builder.target());
    if (shared.windows) unroll = shared.windows->unroll;
    if (lanes.axis && !lanes.is_masked && !shared.windows)
        shared.rows = find_rows_of_lanes(kernel, *lanes.axis, builder.target());
    if (shared.rows) {
        shared.held.clear();
        unroll = 1;
    }
    if (lanes.axis && unroll > 1 && !shared.windows && kernel.joint_kernels == 1)
        broadcast_shared_loads(kernel, lanes, shared, builder.target());
    kernel.nest.multiplies_in_sums = multiplies_in_sums(kernel, builder.target());
    lower_free_lanes(kernel, lanes, unroll, shared, builder.target(), schedule);
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
