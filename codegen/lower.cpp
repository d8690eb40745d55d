// codegen/lower.cpp – the choice of a strategy
#include "codegen/lower.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/integer.h"
#include "codegen/case_axes.h"
#include "codegen/chain_lanes.h"
#include "codegen/flip_axes.h"
#include "codegen/fold_indices.h"
#include "codegen/gpu/lower.h"
#include "codegen/guarded_reads.h"
#include "codegen/joint_sums.h"
#include "codegen/kernel_places.h"
#include "codegen/lane_steps.h"
#include "codegen/merge_nests.h"
#include "codegen/narrow_axes.h"
#include "codegen/narrow_sums.h"
#include "codegen/reduced_order.h"
#include "codegen/side_by_side.h"
#include "codegen/slices.h"
#include "codegen/split_periods.h"

namespace ricci::codegen {

namespace {

/// A core of fewer vectors is not cut from its borders where lanes can be masked.
constexpr std::int64_t vectors_of_core = 4;

/// Vectors of results, or rows: what a reduction can do side by side. Long sums keep all vectors of
/// a row in registers: rows are what there is of them.
std::int64_t units(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    const std::int64_t results = points(kernel.free);
    if (!lanes.axis || lanes.is_reduced_axis) return results;
    const std::int64_t vectors = ceil_div(lanes.axis->extent, lanes.lanes);
    const std::int64_t rows = results / lanes.axis->extent;
    const bool is_long = points(kernel.reduced) >= long_reduction;
    return rows * (is_long ? ceil_div(vectors, target.vector_registers / 2) : vectors);
}

/// Cycles of a sum, of which what no cache holds takes twice as long as its instructions.
double cycles_of_sum(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    const std::vector<Touch> all = touches(kernel);
    const bool is_far = std::ranges::any_of(all, [&](const Touch& touch) {
        const Buffer& buffer = kernel.nest.at(touch.buffer);
        const auto bytes = std::int64_t(size_bytes(buffer.dtype));
        return touch.is_reduced && buffer.elements * bytes > 4 * target.l2_bytes;
    });
    return is_far ? 2 * lanes.cycles : lanes.cycles;
}

/// The buffers `read_later`, and those of kernels that are not lowered yet.
std::set<std::size_t> touched_later(const std::vector<Kernel>& kernels,
                                    std::set<std::size_t> read_later) {
    for (const Kernel& kernel : kernels)
        read_later.insert(kernel.places.begin(), kernel.places.end());
    return read_later;
}

/// The buffers of a kernel that are `read_later`, or used by kernels that are not lowered yet; its
/// `members` are those that are lowered with it.
std::set<std::size_t> later_places(const Kernel& kernel, const std::vector<Kernel>& kernels,
                                   const std::vector<std::size_t>& members,
                                   const std::set<std::size_t>& read_later) {
    std::set<std::size_t> later;
    for (const std::size_t place : kernel.places) {
        bool is_touched = read_later.contains(place);
        for (std::size_t k = 0; k < kernels.size() && !is_touched; ++k)
            is_touched = std::ranges::find(kernels[k].places, place) != kernels[k].places.end() &&
                         std::ranges::find(members, k) == members.end();
        if (is_touched) later.insert(place);
    }
    return later;
}

/// A way to run a chain of rows. The first that finds one which does better so is taken.
struct ChainWay {
    ChainRules rules;
    bool (*lower)(RowChain chain, PlanBuilder& builder);
};
std::vector<ChainWay> chain_ways(const Target& target) {
    if (target.is_plain || target.forced == Forced::no_chains) return {};
    if (target.is_gpu()) return {{gpu::chain_rules(), gpu::lower_row_chain}};
    return {{chain_rules(target, LanesOfChain::along_rows), lower_row_chain},
            {chain_rules(target, LanesOfChain::across_rows), lower_chain_across}};
}

/// Whether kernels were found that run slice by slice with kernel `k`, and are lowered now.
bool lower_slices(std::vector<Kernel>& kernels, std::size_t k, PlanBuilder& builder,
                  const std::set<std::size_t>& read_later) {
    if (builder.target().is_gpu() || builder.target().is_plain) return false;
    std::optional<SlicedKernels> sliced = find_slices(kernels, k, builder, read_later);
    if (!sliced) return false;
    for (const std::size_t member : sliced->members) kernels[member] = {};
    const std::set<std::size_t> read = touched_later(kernels, read_later);
    for (std::vector<Kernel>& loop : sliced->loops) {
        builder.begin_slices(points(loop[0].slices));
        lower(std::move(loop), builder, read);
        builder.end_slices();
    }
    return true;
}

/// Merges steps of another kernel, which are independent of the first ones, into these as long as
/// each has a counterpart; the others follow.
void merge_steps(std::vector<LoweredKernel>& steps, std::vector<LoweredKernel> others,
                 const Target& target) {
    std::vector<LoweredKernel> rest;
    auto next = steps.begin();
    for (LoweredKernel& other : others) {
        if (rest.empty())
            next = std::find_if(next, steps.end(),
                                [&](LoweredKernel& step) { return merge(step, other, target); });
        if (!rest.empty() || next == steps.end())
            rest.push_back(std::move(other));
        else
            ++next;
    }
    std::ranges::move(rest, std::back_inserter(steps));
}

/// Whether reductions were found that read the same as kernel `k`, and are lowered now.
bool lower_joint_sums(std::vector<Kernel>& kernels, std::size_t k, PlanBuilder& builder,
                      const std::set<std::size_t>& read_later) {
    const Target& target = builder.target();
    if (target.is_gpu() || target.is_plain || builder.tunings()) return false;
    const std::vector<std::size_t> members = find_joint_sums(kernels, k, builder.plan(), target);
    if (members.size() < 2) return false;
    double cycles = 0;
    for (const std::size_t member : members) cycles += choose_lanes(kernels[member], target).cycles;
    std::vector<LoweredKernel> steps;
    for (const std::size_t member : members) {
        Kernel& kernel = kernels[member];
        kernel.touched_later.merge(later_places(kernel, kernels, {member}, read_later));
        kernel.joint_kernels = std::int64_t(members.size());
        kernel.joint_cycles = cycles;
        builder.hold();
        lower(std::move(kernel), builder);
        merge_steps(steps, builder.release(), target);
        kernels[member] = {};
    }
    for (LoweredKernel& step : steps)
        builder.add_step(std::move(step.kernel), std::move(step.schedule));
    return true;
}

/// Whether no kernel touches what another one writes: then passes over rows are worth no more than
/// one loop for all.
bool are_apart(const std::vector<Kernel>& kernels, const std::vector<std::size_t>& members) {
    std::vector<Places> places;
    for (const std::size_t member : members) {
        const Places own = places_of(kernels[member]);
        if (!std::ranges::all_of(places,
                                 [&](const Places& each) { return are_independent(own, each); }))
            return false;
        places.push_back(own);
    }
    return true;
}

/// Whether a chain that begins with kernel `k` was found, and its kernels are lowered now.
bool lower_chain(std::vector<Kernel>& kernels, std::size_t k, const std::vector<ChainWay>& ways,
                 PlanBuilder& builder, const std::set<std::size_t>& read_later) {
    for (const ChainWay& way : ways) {
        std::optional<RowChain> chain =
            find_row_chain(kernels, k, builder.plan(), way.rules, read_later);
        if (!chain) continue;
        const std::vector<std::size_t> members = chain->members;
        if (are_apart(kernels, members) && lower_joint_sums(kernels, k, builder, read_later))
            return true;
        chain->kernel.touched_later.merge(
            later_places(chain->kernel, kernels, members, read_later));
        if (!way.lower(std::move(*chain), builder)) continue;
        for (const std::size_t member : members) kernels[member] = {};
        return true;
    }
    return false;
}

}  // namespace

void lower(std::vector<Kernel> kernels, PlanBuilder& builder,
           const std::set<std::size_t>& read_later) {
    const std::vector<ChainWay> ways = chain_ways(builder.target());
    if (!builder.target().is_plain) std::ranges::for_each(kernels, narrow_sum);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        if (kernels[k].writes.empty()) continue;  // lowered along with another one
        if (lower_slices(kernels, k, builder, read_later)) continue;
        if (lower_chain(kernels, k, ways, builder, read_later)) continue;
        if (lower_joint_sums(kernels, k, builder, read_later)) continue;
        kernels[k].touched_later.merge(later_places(kernels[k], kernels, {k}, read_later));
        lower(std::move(kernels[k]), builder);
        kernels[k] = {};
    }
}

void lower(Kernel kernel, PlanBuilder& builder, Splitting splitting) {
    if (builder.target().is_gpu()) {
        gpu::lower(std::move(kernel), builder);
        return;
    }
    if (builder.target().is_plain) {
        lower_serial(std::move(kernel), builder);
        return;
    }
    if (kernel.carry) {
        merge_axes(kernel);
        (void)lower_scan(kernel, builder);
        return;
    }
    narrow_sum(kernel);  // parts may fit where the whole does not
    flip_axes(kernel);
    narrow_axes(kernel);
    write_out_cases(kernel, builder.target());
    if (std::vector<Kernel> parts = split_periods(kernel); !parts.empty()) {
        const std::set<std::size_t> later = kernel.touched_later;
        // What whole turns leave over is written to the lines that they have written: slice by
        // slice, while these are in a cache. Parts that were lowered along have no writes.
        const bool has_lines = has_masked_stores(builder.target());
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (parts[k].writes.empty() || (has_lines && lower_slices(parts, k, builder, later)))
                continue;
            lower(std::move(parts[k]), builder, splitting);
            parts[k] = {};
        }
        return;
    }
    if (has_masked_stores(builder.target())) guard_reads(kernel);
    CaseRules cases;
    if (builder.target().forced == Forced::rewritings) cases.least_points = 0;
    cases.share_windows = may_share_windows(builder.target());
    if (has_masked_stores(builder.target())) cases.lanes = codegen::lanes(kernel, builder.target());
    if (std::vector<Kernel> parts = split_cases(kernel, cases); !parts.empty()) {
        for (Kernel& part : parts) lower(std::move(part), builder, splitting);
        return;
    }
    choose_between_turns(kernel);
    order_reduced(kernel);
    merge_axes(kernel);
    LanePlan lanes = choose_lanes(kernel, builder.target());
    if (kernel.joint_kernels > 1) lanes.cycles = kernel.joint_cycles;
    if (!kernel.body) {
        lower_pointwise(std::move(kernel), lanes, builder);
        return;
    }
    if (lower_scan(kernel, builder)) return;
    if (lower_contraction(kernel, lanes, builder, splitting)) return;
    // Masks cost less than borders of their own beside a narrow core.
    const std::int64_t least_core =
        codegen::lanes(kernel, builder.target()) * (lanes.is_masked ? vectors_of_core : 1);
    std::vector<Kernel> parts = split_border(kernel, least_core);
    if (parts.empty()) parts = split_into_tiles(kernel, lanes, builder.target());
    if (!parts.empty()) {
        for (Kernel& part : parts) lower(std::move(part), builder, splitting);
        return;
    }
    if (lower_far_rows(kernel, lanes, builder, splitting)) return;
    if (splitting == Splitting::allowed &&
        (lower_crossed_sum(kernel, lanes, builder) || lower_short_groups(kernel, lanes, builder)))
        return;
    if (splitting == Splitting::allowed &&
        lower_in_two_levels(kernel, units(kernel, lanes, builder.target()),
                            cycles_of_sum(kernel, lanes, builder.target()), builder))
        return;
    if (splitting == Splitting::allowed && lanes.is_reduced_axis &&
        lower_in_order_of_memory(kernel, builder))
        return;
    if (lanes.is_reduced_axis && lower_short_rows(kernel, lanes, builder)) return;
    if (lanes.is_reduced_axis)
        lower_row_reduction(std::move(kernel), lanes, builder);
    else
        lower_strided_reduction(std::move(kernel), lanes, builder);
}

}  // namespace ricci::codegen
