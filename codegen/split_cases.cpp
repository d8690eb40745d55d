// codegen/split_cases.cpp – a core in which places are affine, and borders in which they are not
#include <algorithm>

#include "base/integer.h"
#include "codegen/fold_indices.h"
#include "codegen/guarded_reads.h"
#include "codegen/lane_steps.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// Of axes that a register tile holds whole beside others, as residues of a stride.
constexpr std::int64_t short_axis = 8;

/// Part of an axis, half-open.
struct Part {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    [[nodiscard]] std::int64_t length() const { return upper - lower; }
};

/// The points of the axis at which the form lies in the core, whatever the other axes.
Part decided(const Decision& decision, const Axis& axis, const IndexRange& rest) {
    const std::int64_t c = decision.form.coefficient(axis.var);
    const std::int64_t low = decision.core.low - rest.low;
    const std::int64_t high = decision.core.high - rest.high;
    if (c > 0) return {ceil_div(low, c), floor_div(high, c) + 1};
    return {ceil_div(-high, -c), floor_div(-low, -c) + 1};
}

/// The axis that leaves the largest share of it to the core, and that core.
struct Cut {
    std::size_t axis = 0;
    Part core;
};
std::optional<Cut> best_cut(const Kernel& kernel, const AxisRanges& ranges,
                            const Decision& decision, const std::vector<Part>& cores) {
    std::optional<Cut> best;
    double best_share = 0.5;
    for (std::size_t i = 0; i < kernel.free.size(); ++i) {
        const Axis& axis = kernel.free[i];
        if (decision.form.coefficient(axis.var) == 0) continue;
        const auto rest = ranges.without(decision.form, axis.var);
        if (!rest) continue;
        Part core = decided(decision, axis, *rest);
        core = {std::max(core.lower, cores[i].lower), std::min(core.upper, cores[i].upper)};
        const double share = double(core.length()) / double(axis.extent);
        if (share < best_share) continue;
        best_share = share;
        best = Cut{i, core};
    }
    return best;
}

/// What is left of a cut where guarded reads, which lanes can mask, are all that it decides: whole
/// vectors along results that stand near to each other, and rows of others if nearly all are core
/// and no windows that share them move over them.
std::optional<Cut> for_masks(const Kernel& kernel, const Decision& decision, Cut cut,
                             const CaseRules& rules) {
    constexpr double least_share = 0.9;
    constexpr std::int64_t least_vectors = 4;
    const Axis& axis = kernel.free[cut.axis];
    const bool is_near = std::ranges::all_of(kernel.writes, [&](const Store& write) {
        const std::int64_t step = write.at.affine.coefficient(axis.var);
        return step >= 1 && step <= longest_short_step;
    });
    if (!is_near) {
        const bool is_rare = double(cut.core.length()) >= least_share * double(axis.extent);
        const bool has_window = rules.share_windows && !kernel.is_arg_reduction() &&
                                std::ranges::any_of(kernel.reduced, [&](const Axis& each) {
                                    return decision.form.coefficient(each.var) != 0;
                                });
        return is_rare && !has_window ? std::optional(cut) : std::nullopt;
    }
    const std::int64_t behind = axis.extent - cut.core.upper;
    cut.core.lower = ceil_div(cut.core.lower, rules.lanes) * rules.lanes;
    cut.core.upper = axis.extent - ceil_div(behind, rules.lanes) * rules.lanes;
    return cut.core.length() >= least_vectors * rules.lanes ? std::optional(cut) : std::nullopt;
}

/// Whether all points that the kernel's conditions leave lie in the core.
bool is_settled(const Kernel& kernel, const AxisRanges& ranges, const Decision& decision) {
    const std::optional<IndexRange> range = ranges.of(decision.form);
    const auto holds = [&](const AffineForm& at_least_zero) {
        return std::ranges::find(kernel.conditions.at_least_zero, at_least_zero) !=
               kernel.conditions.at_least_zero.end();
    };
    if (!range) return false;
    return (range->low >= decision.core.low || holds(decision.form - form(decision.core.low))) &&
           (range->high <= decision.core.high || holds(form(decision.core.high) - decision.form));
}

}  // namespace

Kernel slice(const Kernel& kernel, std::size_t axis, std::int64_t lower, std::int64_t upper,
             const char* name) {
    Kernel part = kernel;
    part.nest.name += name;
    const VarId var = kernel.free[axis].var;
    part.free[axis].extent = upper - lower;
    Substitution to;
    to.replace(var, form(var) + form(lower));
    substitute(part, to);
    return part;
}

std::vector<Kernel> split_cases(const Kernel& kernel, const CaseRules& rules) {
    const double all =
        double(points(kernel.free)) * (kernel.body ? double(points(kernel.reduced)) : 1.0);
    if (kernel.has_meeting_writes() || all < rules.least_points) return {};
    Kernel core = kernel;
    const AxisRanges ranges(core);
    std::vector<Part> cores;
    for (const Axis& axis : kernel.free) cores.push_back({0, axis.extent});
    const std::vector<Decision> decisions = fold_indices(core);
    std::vector<Decision> of_points = decisions;
    if (rules.lanes > 1) {
        Kernel unguarded = without_guarded_reads(core);
        of_points = fold_indices(unguarded);
    }
    for (const Decision& decision : decisions) {
        auto cut = best_cut(core, ranges, decision, cores);
        const bool is_guarded = std::ranges::find(of_points, decision) == of_points.end();
        if (cut && is_guarded) cut = for_masks(core, decision, *cut, rules);
        // Rows of one tile (codegen/joined_residues.h): only panels hold other points.
        if (cut && is_guarded && kernel.free[cut->axis].extent <= short_axis &&
            is_settled(kernel, ranges, decision))
            cut = std::nullopt;
        if (cut) cores[cut->axis] = cut->core;
    }
    // One axis after the other: what lies outside its core is a border along all axes not cut yet.
    std::vector<Kernel> borders;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        const auto [lower, upper] = cores[i];
        const std::int64_t extent = core.free[i].extent;
        if (lower > 0) borders.push_back(slice(core, i, 0, lower, "_before"));
        if (upper < extent) borders.push_back(slice(core, i, upper, extent, "_behind"));
        if (lower > 0 || upper < extent) core = slice(core, i, lower, upper, "");
    }
    if (borders.empty()) return {};
    std::vector<Kernel> parts{std::move(core)};
    for (Kernel& border : borders) parts.push_back(std::move(border));
    for (Kernel& part : parts) (void)fold_indices(part);
    return parts;
}

}  // namespace ricci::codegen
