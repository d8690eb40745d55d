// codegen/chain_lanes.cpp – which lanes all stages of a chain of rows have in common
#include "codegen/chain_lanes.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "codegen/fold_indices.h"
#include "codegen/side_by_side.h"

namespace ricci::codegen {

namespace {

bool is_one_of(const std::vector<Axis>& axes, const Axis& axis) {
    return std::ranges::find(axes, axis) != axes.end();
}

/// A stage as a kernel of its own.
Kernel view(const RowChain& chain, const RowStage& stage) {
    Kernel kernel = chain.kernel;
    kernel.reducer = stage.reducer;
    kernel.body = stage.body;
    kernel.writes = stage.writes;
    if (stage.reducer) return kernel;
    kernel.free.insert(kernel.free.end(), kernel.reduced.begin(), kernel.reduced.end());
    kernel.reduced.clear();
    return kernel;
}

/// Whether a reduction runs in lanes across its rows, once axes that it walks as one are joined.
/// A pass over elements may do so in any case: which lanes suit the chain is seen at its end.
bool has_lanes_across(Kernel kernel, const Target& target) {
    if (!kernel.body) return true;
    merge_axes(kernel);
    const LanePlan lanes = choose_lanes(kernel, target);
    // Small problems of a batch are read as rows by kernels of their own.
    return lanes.axis && !lanes.is_reduced_axis &&
           (target.forced == Forced::chains_across ||
            !find_rows_of_lanes(kernel, *lanes.axis, target));
}

/// Whether a row stands in pieces shorter than a vector, with those of other rows between them: in
/// the lines that it takes from memory are parts of others, which are passed over at other times.
bool is_in_pieces(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    if (!lanes.is_reduced_axis || lanes.axis->extent >= codegen::lanes(kernel, target) ||
        kernel.reduced.size() < 2)
        return false;
    const std::vector<Touch> all = touches(kernel);
    return std::ranges::any_of(all, [&](const Touch& touch) {
        const auto continues = [&](const Axis& axis) {
            return touch.address.coefficient(axis.var) == lanes.axis->extent;
        };
        return touch.is_reduced && touch.address.coefficient(lanes.axis->var) == 1 &&
               std::ranges::none_of(kernel.reduced, continues);
    });
}

/// Whether an array that lies side by side across the rows lies far apart along them: a line of it
/// holds one element of each of many rows, and is fetched again for each of them.
bool is_far_along(const Axis& along, const Axis& across, const Kernel& kernel) {
    return std::ranges::any_of(touches(kernel), [&](const Touch& touch) {
        const std::int64_t step = std::abs(touch.address.coefficient(along.var));
        return step > 1 && std::abs(touch.address.coefficient(across.var)) == 1;
    });
}

/// The lanes of a pass along one of these axes; none: others are better. Where rows fill more than
/// half of the lanes, these may be the dearer ones, since later passes find elements in a cache.
LanePlan lanes_along(const std::vector<Axis>& axes, const Kernel& kernel, const Target& target) {
    constexpr double most_times = 2;
    const LanePlan own = choose_lanes(kernel, target);
    if (target.forced != Forced::chains && is_in_pieces(kernel, own, target)) return {};
    if (!own.axis || is_one_of(axes, *own.axis)) return own;
    const LanePlan along = choose_lanes_among(axes, kernel, target);
    const bool suffices =
        along.axis && along.lanes == lanes(kernel, target) &&
        along.cycles <= most_times * own.cycles &&
        (target.forced == Forced::chains || !is_far_along(*along.axis, *own.axis, kernel));
    return suffices ? along : LanePlan{};
}

/// The same of a kernel by itself, whose rows are these.
bool has_lanes_along(const std::vector<Axis>& rows, const Kernel& kernel, const Target& target) {
    std::vector<Axis> axes = kernel.free;
    std::erase_if(axes, [&](const Axis& axis) { return is_one_of(rows, axis); });
    axes.insert(axes.end(), kernel.reduced.begin(), kernel.reduced.end());
    return lanes_along(axes, kernel, target).axis.has_value();
}

}  // namespace

ChainRules chain_rules(const Target& target, LanesOfChain lanes) {
    const bool is_along = lanes == LanesOfChain::along_rows;
    const Forced forced = is_along ? Forced::chains : Forced::chains_across;
    return {.longest_passing = std::numeric_limits<std::int64_t>::max(),
            .needs_gain = target.forced != forced,
            .fits = [&target, is_along](const Kernel& kernel, const std::vector<Axis>& rows) {
                if (!split_cases(kernel).empty()) return false;
                return is_along ? has_lanes_along(rows, kernel, target)
                                : has_lanes_across(kernel, target);
            }};
}

void merge_axes(RowChain& chain) {
    const bool has_places = std::ranges::any_of(chain.stages, [](const RowStage& stage) {
        return stage.reducer == Reducer::argmax || stage.reducer == Reducer::argmin;
    });
    if (has_places) return;
    Kernel& kernel = chain.kernel;
    kernel.writes.clear();
    for (const RowStage& stage : chain.stages) {
        if (stage.body)
            kernel.writes.push_back({.buffer = stage.writes[0].buffer,
                                     .at = {},
                                     .value = stage.body,
                                     .combine = std::nullopt});
        kernel.writes.insert(kernel.writes.end(), stage.writes.begin(), stage.writes.end());
    }
    merge_axes(kernel);
    auto write = kernel.writes.begin();
    for (RowStage& stage : chain.stages) {
        if (stage.body) stage.body = (write++)->value;
        for (Store& own : stage.writes) own = *write++;
    }
    kernel.writes.clear();
}

LanePlan common_lanes(const RowChain& chain, LanesOfChain lanes, const Target& target) {
    const std::vector<Axis>& axes =
        lanes == LanesOfChain::along_rows ? chain.kernel.reduced : chain.kernel.free;
    LanePlan common;
    for (const RowStage& stage : chain.stages) {
        const Kernel kernel = view(chain, stage);
        const LanePlan own = lanes == LanesOfChain::along_rows ? lanes_along(axes, kernel, target)
                                                               : choose_lanes(kernel, target);
        const bool fits = own.axis && is_one_of(axes, *own.axis);
        if (!fits || (common.axis && *common.axis != *own.axis)) return {};
        common.lanes = common.axis ? std::min(common.lanes, own.lanes) : own.lanes;
        common.axis = own.axis;
        common.cycles += own.cycles;
    }
    return common;
}

}  // namespace ricci::codegen
