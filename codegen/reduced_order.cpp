// codegen/reduced_order.cpp – reduced axes in an order whose loops come to few points in vain
#include "codegen/reduced_order.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "base/integer.h"

namespace ricci::codegen {

namespace {

constexpr std::size_t most_axes = 4;  ///< whose orders are all looked at
/// Turns of an order are counted up to here.
constexpr std::int64_t most_turns = 1 << 12;
/// Turns that are not worth another order.
constexpr std::int64_t few_turns = 8;

using Places = std::unordered_map<VarId, std::int64_t>;

std::int64_t value(const AffineForm& form, const Places& places) {
    std::int64_t sum = form.constant;
    for (const AffineForm::Term& term : form.terms)
        if (const auto found = places.find(term.var); found != places.end())
            sum += term.coefficient * found->second;
    return sum;
}

struct Turns {
    std::int64_t all = 0;     ///< of all loops
    std::int64_t points = 0;  ///< of the innermost one
};

void count(const ReducedLoops& loops, std::size_t level, Places& places, Turns& turns) {
    const ReducedLoop& loop = loops.loops[level];
    std::int64_t lower = std::numeric_limits<std::int64_t>::min();
    std::int64_t upper = std::numeric_limits<std::int64_t>::max();
    for (const BoundTerm& term : loop.lower)
        lower = std::max(lower, ceil_div(value(term.form, places), term.divisor));
    for (const BoundTerm& term : loop.upper)
        upper = std::min(upper, floor_div(value(term.form, places), term.divisor));
    for (std::int64_t at = lower; at < upper && turns.all < most_turns; ++at) {
        ++turns.all;
        places[loop.axis.var] = at;
        if (level + 1 < loops.loops.size())
            count(loops, level + 1, places, turns);
        else
            ++turns.points;
    }
}

/// Turns at some points of the free axes.
Turns turns_of(const Kernel& kernel, const std::vector<Axis>& order) {
    const ReducedLoops loops = reduced_loops(kernel, order);
    constexpr std::int64_t samples = 4;
    Turns turns;
    for (std::int64_t n = 0; n < samples; ++n) {
        Places places;
        for (const auto* axes : {&kernel.slices, &kernel.free})
            for (const Axis& axis : *axes) places[axis.var] = (axis.extent - 1) * n / (samples - 1);
        count(loops, 0, places, turns);
    }
    return turns;
}

}  // namespace

void order_reduced(Kernel& kernel) {
    if (!kernel.body || kernel.carry || kernel.is_arg_reduction() || kernel.reduced.size() < 2 ||
        kernel.reduced.size() > most_axes || kernel.conditions.at_least_zero.empty() ||
        points(kernel.free) == 0 || points(kernel.reduced) == 0)
        return;
    const Turns given = turns_of(kernel, kernel.reduced);
    // Each point takes a turn of each loop, at most.
    const auto needed =
        std::int64_t(kernel.reduced.size()) * std::max<std::int64_t>(1, given.points);
    if (given.all <= needed + few_turns) return;
    std::vector<Axis> order = kernel.reduced;
    std::ranges::sort(order, {}, &Axis::var);
    std::vector<Axis> best = kernel.reduced;
    std::int64_t fewest = given.all / 2;
    do {
        const Turns turns = turns_of(kernel, order);
        if (turns.all >= fewest) continue;
        fewest = turns.all;
        best = order;
    } while (std::ranges::next_permutation(order, {}, &Axis::var).found);
    kernel.reduced = best;
}

}  // namespace ricci::codegen
