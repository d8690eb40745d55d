// codegen/split_periods.cpp – axes whose index arithmetic repeats, as turns and places in a turn
#include "codegen/split_periods.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/integer.h"
#include "codegen/fold_indices.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// The places of a turn at which it may begin are tried one by one.
constexpr std::int64_t longest_turn = 1 << 16;
/// A multiple of a turn's places by a remainder fits 64 bits.
constexpr std::int64_t largest_divisor = std::int64_t{1} << 40;

/// `e // N` or `e % N` of a form.
struct Quotient {
    AffineForm dividend;
    std::int64_t divisor = 1;
};

/// The quotients and remainders that the kernel computes at its points, once each.
std::vector<Quotient> quotients(const Kernel& kernel) {
    std::vector<Value> roots;
    const auto add = [&](const Value& value) {
        if (value) roots.push_back(value);
    };
    add(kernel.body);
    add(kernel.conditions.rest);
    add(kernel.arg_place);
    for (const Store& write : kernel.writes) {
        add(write.value);
        add(write.at.computed);
    }
    // Nodes of addresses are no nodes of the values that are loaded from them.
    std::vector<Quotient> found;
    std::set<const ValueNode*> seen;
    while (!roots.empty()) {
        std::vector<Value> addresses;
        for_each_node(roots, [&](const Value& value) {
            if (!seen.insert(value.get()).second) return;
            const auto* load = std::get_if<Load>(&value->term);
            if (load != nullptr && load->at.computed) addresses.push_back(load->at.computed);
            const auto* operate = std::get_if<Operate>(&value->term);
            if (operate == nullptr || (operate->op != Op::floordiv && operate->op != Op::mod))
                return;
            const auto dividend = affine(operate->args[0]);
            const auto divisor = affine(operate->args[1]);
            if (dividend && divisor && divisor->is_constant() && divisor->constant > 1 &&
                divisor->constant <= largest_divisor)
                found.push_back({*dividend, divisor->constant});
        });
        roots = std::move(addresses);
    }
    return found;
}

/// Part of an axis as turns.
struct Turns {
    bool is_reduced = false;
    std::size_t axis = 0;
    std::int64_t length = 1;
    std::int64_t first = 0;  ///< where the first whole one begins
    std::int64_t count = 0;
};

/// Whether nothing of the axis is left over.
bool is_whole(const Turns& turns, const Kernel& kernel) {
    const Axis& axis = (turns.is_reduced ? kernel.reduced : kernel.free)[turns.axis];
    return turns.first == 0 && turns.count * turns.length == axis.extent;
}

/// The turns of an axis in which a quotient repeats, beginning where the remainder is least.
std::optional<Turns> turns(const Kernel& kernel, bool is_reduced, std::size_t number,
                           const Quotient& quotient) {
    const Axis& axis = (is_reduced ? kernel.reduced : kernel.free)[number];
    const std::int64_t step = quotient.dividend.coefficient(axis.var);
    if (step == 0 || std::abs(step) > largest_divisor) return std::nullopt;
    Turns result{.is_reduced = is_reduced,
                 .axis = number,
                 .length = quotient.divisor / std::gcd(step, quotient.divisor)};
    if (result.length < 2 || result.length > longest_turn) return std::nullopt;
    const auto remainder = [&](std::int64_t place) {
        const std::int64_t e =
            quotient.dividend.constant % quotient.divisor + step % quotient.divisor * place;
        return e - floor_div(e, quotient.divisor) * quotient.divisor;
    };
    for (std::int64_t place = 1; place < result.length; ++place)
        if (remainder(place) < remainder(result.first)) result.first = place;
    result.count = (axis.extent - result.first) / result.length;
    if (result.count < 2) return std::nullopt;
    // A sum stays one sum.
    if (is_reduced && !is_whole(result, kernel)) return std::nullopt;
    return result;
}

/// The kernel with an axis, which is whole turns, as two.
Kernel split(Kernel kernel, const Turns& turns) {
    std::vector<Axis>& axes = turns.is_reduced ? kernel.reduced : kernel.free;
    const VarId place = axes[turns.axis].var;
    const VarId turn = kernel.nest.add(Var{kernel.nest.at(place).name + "_turn"});
    Substitution to;
    to.replace(place, turns.length * form(turn) + form(place));
    substitute(kernel, to);
    axes[turns.axis].extent = turns.length;
    axes.insert(axes.begin() + std::ptrdiff_t(turns.axis), Axis{turn, turns.count});
    (void)fold_indices(kernel);
    return kernel;
}

/// The split that leaves the fewest quotients, of those the one into the longest turns. Of few axes
/// some may be left over: each gives up to three kernels.
std::optional<Turns> best_turns(const Kernel& kernel, const std::vector<Quotient>& open) {
    constexpr std::ptrdiff_t most_axes_with_rest = 3;
    const bool may_leave_rest = std::ranges::count_if(kernel.free, [&](const Axis& axis) {
                                    return std::ranges::any_of(open, [&](const Quotient& quotient) {
                                        return quotient.dividend.coefficient(axis.var) != 0;
                                    });
                                }) <= most_axes_with_rest;
    std::optional<Turns> best;
    auto least = std::pair(open.size(), std::int64_t{0});
    std::set<std::tuple<bool, std::size_t, std::int64_t, std::int64_t>> seen;
    for (const Quotient& quotient : open)
        for (const bool is_reduced : {false, true}) {
            const std::size_t axes = (is_reduced ? kernel.reduced : kernel.free).size();
            for (std::size_t axis = 0; axis < axes; ++axis) {
                const auto found = turns(kernel, is_reduced, axis, quotient);
                if (!found || !seen.insert({is_reduced, axis, found->length, found->first}).second)
                    continue;
                if (!may_leave_rest && !is_whole(*found, kernel)) continue;
                Kernel whole = kernel;
                if (!is_reduced)
                    whole = slice(kernel, axis, found->first,
                                  found->first + found->count * found->length, "");
                const auto left =
                    std::pair(quotients(split(std::move(whole), *found)).size(), -found->length);
                if (left.first >= open.size() || left >= least) continue;
                least = left;
                best = found;
            }
        }
    return best;
}

}  // namespace

std::vector<Kernel> split_periods(const Kernel& kernel) {
    constexpr std::size_t most_quotients = 16;
    if (kernel.has_meeting_writes() || points(kernel.free) == 0) return {};
    if (quotients(kernel).empty()) return {};
    Kernel folded = kernel;
    (void)fold_indices(folded);
    const std::vector<Quotient> open = quotients(folded);
    if (open.empty() || open.size() > most_quotients) return {};
    const auto best = best_turns(folded, open);
    if (!best) return {};
    if (best->is_reduced) return {split(std::move(folded), *best)};
    const std::int64_t last = best->first + best->count * best->length;
    const std::int64_t extent = folded.free[best->axis].extent;
    std::vector<Kernel> parts = {split(slice(folded, best->axis, best->first, last, ""), *best)};
    const auto add_rest = [&](std::int64_t lower, std::int64_t upper, const char* name) {
        if (lower == upper) return;
        parts.push_back(slice(folded, best->axis, lower, upper, name));
        (void)fold_indices(parts.back());
    };
    add_rest(0, best->first, "_before");
    add_rest(last, extent, "_behind");
    return parts;
}

}  // namespace ricci::codegen
