// codegen/lane_masking.cpp – reductions whose points move with the lanes: conditions as masks
#include "codegen/lane_masking.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

using IsAxis = std::function<bool(const Axis&)>;

/// Where there are few masks, of one block of lanes, the loops that change them are unrolled,
/// innermost: what is tested is known then. The longest other loop is next to them.
bool make_masks_constant(Kernel& kernel, const Axis& lane, std::int64_t width,
                         const IsAxis& changes_mask, LaneMasking& masks) {
    auto& order = kernel.reduced;
    std::vector<Axis> masking;
    std::ranges::copy_if(order, std::back_inserter(masking), changes_mask);
    const auto moves = [&](const AffineForm& condition) {
        return std::ranges::any_of(
            masking, [&](const Axis& axis) { return condition.coefficient(axis.var) != 0; });
    };
    const auto is_known = [&](const AffineForm& condition) {
        return condition.coefficient(lane.var) != 0 &&
               std::ranges::all_of(condition.terms, [&](const AffineForm::Term& term) {
                   return term.var == lane.var || moves(form(term.var));
               });
    };
    auto& conditions = kernel.conditions;
    if (lane.extent > width || points(masking) > most_constant_masks ||
        std::ranges::any_of(conditions.equal_zero, moves) ||
        std::ranges::any_of(conditions.at_least_zero, [&](const AffineForm& condition) {
            return moves(condition) && !is_known(condition);
        }))
        return false;
    const std::pair written{conditions, order};
    std::erase_if(conditions.at_least_zero, moves);
    std::ranges::stable_partition(order, std::not_fn(changes_mask));
    masks.outer_loops = order.size() - masking.size();
    const auto outer = order.begin() + std::ptrdiff_t(masks.outer_loops);
    const auto inner = std::max_element(
        order.begin(), outer, [](const Axis& a, const Axis& b) { return a.extent <= b.extent; });
    if (inner != outer) std::rotate(inner, inner + 1, outer);
    // What else is asked, of other axes alone, may have become a bound of these loops.
    const std::vector<ReducedLoop> loops = reduced_loops(kernel, order).loops;
    masks.are_constant = std::all_of(
        loops.begin() + std::ptrdiff_t(masks.outer_loops), loops.end(),
        [](const ReducedLoop& each) { return is_whole({each.axis, each.lower, each.upper}); });
    if (!masks.are_constant) {
        std::tie(conditions, order) = written;
        masks.outer_loops = 0;
    }
    return masks.are_constant;
}

}  // namespace

LaneMasking mask_lanes(Kernel& kernel, const Axis& lane, std::int64_t width, bool has_windows) {
    LaneMasking masks;
    for (AffineForm& condition : kernel.conditions.at_least_zero) {
        const std::int64_t step = condition.coefficient(lane.var);
        if (step == 0) continue;
        masks.at_least_zero.push_back(condition);
        if (step > 0) condition.constant += step * (width - 1);
    }
    const IsAxis changes_mask = [moving = masks.at_least_zero](const Axis& axis) {
        return std::ranges::any_of(moving, [&](const AffineForm& condition) {
            return condition.coefficient(axis.var) != 0;
        });
    };
    masks.at_least_zero.push_back(form(lane.extent - 1) - form(lane.var));
    auto& order = kernel.reduced;
    if (has_windows) {
        const auto others = std::ranges::stable_partition(order, changes_mask);
        masks.outer_loops = std::size_t(others.begin() - order.begin());
        return masks;
    }
    if (make_masks_constant(kernel, lane, width, changes_mask, masks)) return masks;
    // The longest axis that does not change the mask runs innermost.
    auto inner = order.end();
    for (auto axis = order.begin(); axis != order.end(); ++axis)
        if (!changes_mask(*axis) && (inner == order.end() || axis->extent >= inner->extent))
            inner = axis;
    if (inner != order.end()) std::rotate(inner, inner + 1, order.end());
    while (
        masks.outer_loops < order.size() &&
        std::any_of(order.begin() + std::ptrdiff_t(masks.outer_loops), order.end(), changes_mask))
        ++masks.outer_loops;
    return masks;
}

}  // namespace ricci::codegen
