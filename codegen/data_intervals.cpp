// codegen/data_intervals.cpp – conditions that points lie between data
#include "codegen/data_intervals.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "codegen/known_conditions.h"
#include "codegen/nest_build.h"
#include "codegen/take_condition.h"

namespace ricci::codegen {

namespace {

/// The sum of so many data and of places stays in 64 bits.
constexpr std::size_t most_terms = 4;
/// Sums of forms and of as many data stay in 64 bits where these are no farther from 0.
constexpr std::int64_t far_data = std::int64_t{1} << 60;
/// Farther forms are left to guards: they are sums of numbers that no array reaches.
constexpr std::int64_t far_form = std::int64_t{1} << 56;

bool is_near(const AffineForm& form) {
    return std::abs(form.constant) < far_form &&
           std::ranges::all_of(
               form.terms,
               [](const AffineForm::Term& term) { return std::abs(term.coefficient) < far_form; });
}
/// Adds the value to the sum; false where a number of it is far.
bool add(DataSum& sum, const Value& value, bool is_negative) {
    if (const auto* var = std::get_if<VarValue>(&value->term)) {
        if (!is_near(var->form)) return false;
        sum.form = is_negative ? sum.form - var->form : sum.form + var->form;
    } else if (const auto* number = std::get_if<Constant>(&value->term)) {
        if (number->integer <= -far_form || number->integer >= far_form) return false;
        sum.form = sum.form + form(is_negative ? -number->integer : number->integer);
    } else if (is_operation(value, Op::add)) {
        return std::ranges::all_of(operands(value),
                                   [&](const Value& part) { return add(sum, part, is_negative); });
    } else if (is_operation(value, Op::neg)) {
        return add(sum, operands(value)[0], !is_negative);
    } else {
        sum.terms.push_back({value, is_negative});
    }
    return is_near(sum.form);
}

/// The nearest number whose sums with some others stay in 64 bits.
Value near_zero(Value a) {
    return on_integers(Op::min, on_integers(Op::max, std::move(a), make_integer(-far_data)),
                       make_integer(far_data));
}
Value negated(Value a) { return make_operation(Op::neg, {std::move(a)}, DType::i64); }
/// Whether 64 bits hold the sum whatever the data are.
bool is_exact(const DataSum& sum) {
    return sum.terms.empty() ||
           (sum.terms.size() == 1 && !sum.terms[0].is_negative && sum.form == AffineForm{});
}
/// Whether a part of the sums moves with the variable.
bool moves_data(const DataInequality& inequality, VarId var) {
    const auto moves = [&](const DataSum::Term& term) { return depends_on(term.data, var); };
    return std::ranges::any_of(inequality.left.terms, moves) ||
           std::ranges::any_of(inequality.right.terms, moves);
}

/// Whether the kernel's writes combine what it reduces with what is there.
bool updates_by_reduction(const Kernel& kernel) {
    return kernel.body && !kernel.writes.empty() &&
           std::ranges::all_of(kernel.writes, [&](const Store& write) {
               const auto* convert = std::get_if<Convert>(&write.value->term);
               const Value& value = convert ? convert->a : write.value;
               const auto* let = std::get_if<LetValue>(&value->term);
               return let && let->number == 0 && write.combine == kernel.reducer;
           });
}

}  // namespace

Value on_integers(Op op, Value a, Value b) {
    return make_operation(op, {std::move(a), std::move(b)}, DType::i64);
}

bool is_sure(const DataInequality& inequality) {
    return is_exact(inequality.left) && is_exact(inequality.right);
}

std::vector<DataInequality> data_inequalities(const Value& condition) {
    const auto* compare = std::get_if<Operate>(&condition->term);
    if (compare == nullptr || compare->args.size() != 2 || compare->args[0]->dtype != DType::i64)
        return {};
    DataSum a;
    DataSum b;
    if (!add(a, compare->args[0], false) || !add(b, compare->args[1], false)) return {};
    const std::size_t terms = a.terms.size() + b.terms.size();
    if (terms == 0 || terms > most_terms) return {};
    if (compare->op == Op::ge) return {{a, b, 0}};
    if (compare->op == Op::gt) return {{a, b, 1}};
    if (compare->op == Op::le) return {{b, a, 0}};
    if (compare->op == Op::lt) return {{b, a, 1}};
    if (compare->op == Op::eq) return {{a, b, 0}, {b, a, 0}};
    return {};
}

std::optional<Value> limit_of_data(const DataInequality& inequality, std::int64_t step,
                                   AffineForm rest, const std::optional<IndexRange>& rest_range,
                                   const IndexRange& range) {
    if (!rest_range || rest_range->low <= -far_form || rest_range->high >= far_form)
        return std::nullopt;
    const bool is_first = step > 0;
    const bool is_unit = std::abs(step) == 1;
    // step * variable + rest + data >= 0
    if (is_unit) rest = is_first ? -1 * rest : rest + form(1);
    Value limit = rest == AffineForm{} ? nullptr : make_index(rest);
    Value is_near;
    for (const DataSum* side : {&inequality.left, &inequality.right})
        for (const DataSum::Term& term : side->terms) {
            bool is_negative = term.is_negative != (side == &inequality.right);
            if (is_unit) is_negative = is_negative != is_first;
            const bool is_alone = is_sure(inequality) && !limit && !is_negative;
            const Value near = is_alone ? term.data : near_zero(term.data);
            const Value summand = is_negative ? negated(near) : near;
            limit = limit ? on_integers(Op::add, limit, summand) : summand;
            if (is_sure(inequality)) continue;
            const Value holds = make_operation(Op::eq, {near, term.data}, DType::boolean);
            is_near =
                is_near ? make_operation(Op::logical_and, {is_near, holds}, DType::boolean) : holds;
        }
    if (!is_unit) {
        limit = on_integers(Op::floordiv, limit, make_integer(std::abs(step)));
        limit = is_first ? negated(limit) : on_integers(Op::add, limit, make_integer(1));
    }
    if (!is_near) return limit;
    return make_operation(Op::select,
                          {is_near, limit, make_integer(is_first ? range.low : range.high + 1)},
                          DType::i64);
}

std::vector<DataInterval> data_intervals(const std::vector<Axis>& axes, const Value& condition) {
    std::vector<DataInequality> all;
    for (const Value& each : conjuncts(condition))
        for (DataInequality& inequality : data_inequalities(each))
            all.push_back(std::move(inequality));
    std::vector<DataInterval> found;
    for (const Axis& axis : axes) {
        if (axis.extent < least_interval_extent) continue;
        DataInterval interval{axis, {}};
        bool has_first = false;
        bool has_last = false;
        for (const DataInequality& each : all) {
            const std::int64_t step = each.coefficient(axis.var);
            if (step == 0 || moves_data(each, axis.var)) continue;
            (step > 0 ? has_first : has_last) = true;
            for (const Axis& other : axes)
                if (moves_data(each, other.var)) interval.moved_by.push_back(other.var);
        }
        if (has_first && has_last) found.push_back(std::move(interval));
    }
    return found;
}

Value condition_of_update(const Kernel& kernel) {
    if (kernel.body) return kernel.where;
    return kernel.writes.size() == 1 ? condition_of(kernel.writes[0]) : nullptr;
}

std::vector<DataInterval> data_intervals(const Kernel& kernel) {
    Value condition = condition_of_update(kernel);
    if (kernel.conditions.rest)
        condition = condition ? make_operation(Op::logical_and, {condition, kernel.conditions.rest},
                                               DType::boolean)
                              : kernel.conditions.rest;
    if (!condition) return {};
    std::vector<Axis> axes = kernel.free;
    axes.insert(axes.end(), kernel.reduced.begin(), kernel.reduced.end());
    std::vector<DataInterval> found = data_intervals(axes, condition);
    if (kernel.body && !updates_by_reduction(kernel))
        std::erase_if(found, [&](const DataInterval& each) {
            return std::ranges::find(kernel.reduced, each.axis) == kernel.reduced.end();
        });
    return found;
}

void take_where(Kernel& kernel) {
    if (!kernel.body || !kernel.conditions.rest || !updates_intervals(kernel)) return;
    const std::vector<DataInterval> all = data_intervals(kernel);
    const auto is_of_interval = [&](const Axis& axis) {
        return std::ranges::any_of(all, [&](const DataInterval& each) {
            return each.axis == axis ||
                   std::ranges::find(each.moved_by, axis.var) != each.moved_by.end();
        });
    };
    const auto add = [](Value& to, const Value& part) {
        to = to ? make_operation(Op::logical_and, {to, part}, DType::boolean) : part;
    };
    Value rest;
    for (const Value& part : conjuncts(kernel.conditions.rest)) {
        const bool is_free = std::ranges::all_of(axes_of(kernel, part), [&](const Axis& axis) {
            return std::ranges::find(kernel.free, axis) != kernel.free.end() &&
                   is_of_interval(axis);
        });
        add(is_free ? kernel.where : rest, part);
    }
    kernel.conditions.rest = rest;
}

void take_interval(Kernel& kernel, ReducedLoops& loops, const std::vector<Axis>& lanes) {
    ReducedLoop& loop = loops.loops.back();
    const VarId var = loop.axis.var;
    const auto is_number = [](const LoopBound& bound) {
        return bound.size() == 1 && bound[0].form.is_constant();
    };
    if (!loops.test || !is_number(loop.lower) || !is_number(loop.upper)) return;
    const IndexRange range{loop.lower[0].form.constant, loop.upper[0].form.constant - 1};
    const auto is_fixed = [&](const Value& condition, const DataInequality& each) {
        return is_sure(each) && !moves_data(each, var) && is_inside_everywhere(kernel, condition) &&
               std::ranges::none_of(
                   lanes, [&](const Axis& axis) { return depends_on(condition, axis.var); });
    };
    const AxisRanges ranges(kernel);
    std::array<Value, 2> ends;  // the first point, the first one after all
    EqualTerms equal;
    std::set<Value> holds;
    for (const Value& each : conjuncts(loops.test)) {
        std::vector<std::pair<std::size_t, Value>> limits;
        const std::vector<DataInequality> all = data_inequalities(each);
        for (const DataInequality& inequality : all) {
            const std::int64_t step = inequality.coefficient(var);
            if (step == 0 || !is_fixed(each, inequality)) break;
            const AffineForm rest = inequality.left.form - inequality.right.form - form(var, step) -
                                    form(inequality.gap);
            const std::optional<Value> limit =
                limit_of_data(inequality, step, rest, ranges.of(rest), range);
            if (!limit) break;
            limits.emplace_back(step > 0 ? 0 : 1, *limit);
        }
        if (all.empty() || limits.size() < all.size()) continue;
        holds.insert(equal(each));
        for (const auto& [which, limit] : limits)
            ends[which] = ends[which]
                              ? on_integers(which == 0 ? Op::max : Op::min, ends[which], limit)
                              : limit;
    }
    if (holds.empty()) return;
    for (const bool is_end : {false, true}) {
        if (!ends[is_end]) continue;
        // The first point is none after the last one.
        if (is_end && ends[0])
            ends[1] = on_integers(Op::max, ends[1], make_index(loop.lower[0].form));
        const VarId name =
            kernel.nest.add(Var{kernel.nest.at(var).name + (is_end ? "_end" : "_first")});
        loop.names.push_back({LetBound{name, ends[is_end], range.low, range.high + 1}});
        (is_end ? loop.upper : loop.lower) = bound(form(name));
    }
    KnownConditions known(std::move(holds), equal);
    kernel.body = known(kernel.body);
    loops.test = known(loops.test);
    if (is_true(loops.test)) loops.test = nullptr;
}

std::set<VarId> moving_axes(const Kernel& kernel) {
    std::set<VarId> axes;
    for (const DataInterval& each : data_intervals(kernel))
        axes.insert(each.moved_by.begin(), each.moved_by.end());
    return axes;
}

bool has_interval(const Kernel& kernel, VarId axis) {
    return moving_axes(kernel).contains(axis) ||
           std::ranges::any_of(data_intervals(kernel), [&](const DataInterval& interval) {
               return interval.axis.var == axis;
           });
}

bool updates_intervals(const Kernel& kernel) {
    const std::set<VarId> moving = moving_axes(kernel);
    return std::ranges::any_of(kernel.colliding, [&](VarId axis) { return moving.contains(axis); });
}

}  // namespace ricci::codegen
