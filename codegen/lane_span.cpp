// codegen/lane_span.cpp – rows of which only a part need be computed
#include "codegen/lane_span.h"

#include <algorithm>
#include <utility>

#include "base/integer.h"
#include "codegen/needed_points.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

bool may_have_spans(const Kernel& kernel) {
    constexpr double least_cost = 10;  // to write takes as long as less
    constexpr std::int64_t least_row = 64;
    if (kernel.body || kernel.writes.size() != 1 || kernel.has_meeting_writes() ||
        write_cost(kernel) < least_cost)
        return false;
    const Store& write = kernel.writes.front();
    return !write.combine && !write.at.computed &&
           std::ranges::any_of(kernel.free, [&](const Axis& axis) {
               return axis.extent >= least_row && write.at.affine.coefficient(axis.var) == 1;
           });
}

std::optional<LaneSpan> lane_span(const Kernel& kernel, const Axis& lane, std::int64_t width) {
    constexpr std::int64_t least_turns = 4;  // fewer are not worth three loops
    if (!may_have_spans(kernel) || lane.extent < least_turns * width) return std::nullopt;
    const Store& write = kernel.writes.front();
    LaneSpan span{std::nullopt, std::nullopt, write};
    std::vector<AffineForm> forms = kernel.needed_where;
    span.otherwise.value = make_number(write.value->dtype, 0);
    if (is_operation(write.value, Op::select)) {
        const auto& args = std::get<Operate>(write.value->term).args;
        const std::vector<AffineForm> own = without_large(necessary_forms(args[0]));
        // The other branch holds where the choice is decided; a number may stand anywhere else.
        const bool is_number = std::holds_alternative<Constant>(args[2]->term);
        if (!is_number && !own.empty()) forms.clear();
        if (is_number || !own.empty()) span.otherwise.value = args[2];
        forms.insert(forms.end(), own.begin(), own.end());
    }
    for (const AffineForm& each : forms) {
        const std::int64_t step = each.coefficient(lane.var);
        const bool moves = each.terms.size() > 1;  // others are decided once for all rows
        if (!moves || (step != 1 && step != -1)) continue;
        // rest + step*x >= 0
        const AffineForm rest = each - form(lane.var, step);
        if (step == 1 && !span.lower) span.lower = -1 * rest;
        if (step == -1 && !span.upper) span.upper = rest + form(1);
    }
    return span.lower || span.upper ? std::optional(std::move(span)) : std::nullopt;
}

Body turns_in_span(Kernel& kernel, const LaneSpan& span, const std::string& name,
                   const LoopBound& lower, const LoopBound& upper, std::int64_t width,
                   const std::function<Body(const AffineForm& start)>& computed,
                   const std::function<Body(const AffineForm& start)>& filled) {
    Nest& nest = kernel.nest;
    Body body;
    LoopBound first = lower;
    LoopBound end = upper;
    LoopBound rest = lower;
    // The turn that the place is in, counted from one before all: a LetVar divides no negative
    // form.
    const auto turn_of = [&](const char* which, const AffineForm& place) {
        const std::int64_t least = value_range(kernel, place).first;
        const std::int64_t turns_before = least < 0 ? ceil_div(-least, width) : 0;
        const VarId turn = nest.add(Var{name + which});
        body.push_back(make_let_var(turn, place + form(turns_before * width), width, 0));
        return form(turn, width) - form(turns_before * width);
    };
    if (span.lower) {
        const AffineForm place = turn_of("_first", *span.lower);
        append(body, make_turns(nest, name, lower, with(upper, place), width, filled));
        first = with(std::move(first), place);
        // No point twice: a row may have none to compute, and an update reads what it writes.
        rest = with(std::move(rest), place);
    }
    std::optional<AffineForm> last;
    if (span.upper) {
        last = turn_of("_last", *span.upper + form(width - 1));
        end = with(std::move(end), *last);
    }
    append(body, make_turns(nest, name, std::move(first), std::move(end), width, computed));
    if (last)
        append(body, make_turns(nest, name, with(std::move(rest), *last), upper, width, filled));
    return body;
}

}  // namespace ricci::codegen
