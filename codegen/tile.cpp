// codegen/tile.cpp – the innermost pieces of every strategy: lanes, accumulators, writes
#include "codegen/tile.h"

#include <limits>

#include "base/error.h"
#include "codegen/fold_indices.h"

namespace ricci::codegen {

Body over_lanes(Nest& nest, const Lanes& lanes,
                const std::function<Body(const AffineForm& offset)>& body) {
    AffineForm offset;
    VarId unrolled{};
    VarId lane{};
    if (lanes.unroll > 1) {
        unrolled = nest.add(Var{"u"});
        offset = offset + form(unrolled, lanes.lanes);
    }
    if (lanes.lanes > 1) {
        lane = nest.add(Var{"l"});
        offset = offset + form(lane);
    }
    Body inner = body(offset);
    if (lanes.lanes > 1) {
        LoopBound upper = bound(lanes.lanes);
        for (const BoundTerm& limit : lanes.limit)
            upper.push_back({limit.form - limit.divisor * (offset - form(lane)), limit.divisor});
        Body loop;
        loop.push_back(make_loop(lane, Bind::vector, bound(0), upper, std::move(inner)));
        inner = std::move(loop);
    }
    if (lanes.unroll > 1) {
        Body loop;
        loop.push_back(make_loop(unrolled, Bind::unroll, lanes.unroll, std::move(inner)));
        inner = std::move(loop);
    }
    return inner;
}

namespace {

/// Whether the index of argmax or argmin is known to grow from point to point.
bool is_in_order(const Kernel& kernel, const std::vector<Axis>& order) {
    if (kernel.arg_place || kernel.arg_index.terms.size() != order.size()) return false;
    // Each axis steps beyond all that the ones inside of it reach.
    std::int64_t reach = 0;
    for (std::size_t n = order.size(); n-- > 0;) {
        const std::int64_t step = kernel.arg_index.coefficient(order[n].var);
        if (step <= reach) return false;
        reach += step * (order[n].extent - 1);
    }
    return true;
}

/// One element of a value and its place, against another. Of equal values the one with the smaller
/// place stays, the first NaN before all. `is_later`: what is met before has smaller places.
Body choose(Kernel& kernel, const Accumulator& accumulator, const AffineForm& element,
            const Value& value, const Value& place, bool is_later) {
    Body body;
    const auto let = [&](const Value& named) {
        body.push_back(make_let(kernel.next_let, named));
        return make_let_value(kernel.next_let++, named->dtype);
    };
    const auto test = [](Op op, const Value& a, const Value& b) {
        return make_operation(op, {a, b}, DType::boolean);
    };
    const Nest& nest = kernel.nest;
    const bool is_largest = accumulator.reducer == Reducer::argmax;
    const Value v = let(value);
    const Value i = is_later ? place : let(place);
    const Value best = let(make_load(nest, accumulator.value, {element}));
    const Value kept = make_load(nest, *accumulator.place, {element});
    const Value at = is_later ? kept : let(kept);
    Value is_better = test(is_largest ? Op::gt : Op::lt, v, best);
    if (is_later && is_floating(v->dtype)) {
        const Value is_within = test(is_largest ? Op::le : Op::ge, v, best);
        is_better = test(Op::logical_and, test(Op::eq, best, best),
                         make_operation(Op::logical_not, {is_within}, DType::boolean));
    } else if (!is_later) {
        const Value is_earlier = test(Op::lt, i, at);
        is_better = test(Op::logical_or, is_better,
                         test(Op::logical_and, test(Op::eq, v, best), is_earlier));
        if (is_floating(v->dtype)) {
            const Value wins_as_nan =
                test(Op::logical_and, test(Op::ne, v, v),
                     test(Op::logical_or, test(Op::eq, best, best), is_earlier));
            is_better = test(Op::logical_or, is_better, wins_as_nan);
        }
    }
    // The first point of all is chosen even where it is no better than the identity.
    if (is_later && !accumulator.meets_all_points)
        is_better = test(Op::logical_or, is_better,
                         test(Op::eq, kept, make_integer(accumulator.first_place)));
    const Value better = let(is_better);
    body.push_back(make_store(accumulator.value, {element},
                              make_operation(Op::select, {better, v, best}, v->dtype)));
    body.push_back(make_store(*accumulator.place, {element},
                              make_operation(Op::select, {better, i, at}, DType::i64)));
    return body;
}

}  // namespace

Accumulator make_accumulator(Kernel& kernel, std::int64_t elements, const Axis* innermost) {
    std::vector<Axis> order = kernel.reduced;
    if (innermost != nullptr) {
        std::erase(order, *innermost);
        order.push_back(*innermost);
    }
    Accumulator accumulator{
        .reducer = *kernel.reducer,
        .value = add_registers(kernel.nest, "acc", kernel.body->dtype, elements),
        .place = std::nullopt};
    if (!kernel.is_arg_reduction()) return accumulator;
    accumulator.place = add_registers(kernel.nest, "place", DType::i64, elements);
    accumulator.is_in_order = is_in_order(kernel, order);
    accumulator.meets_all_points = accumulator.is_in_order && kernel.conditions.is_empty();
    if (accumulator.meets_all_points)
        accumulator.first_place = kernel.arg_index.constant;
    else
        accumulator.leave_points_out(kernel);
    return accumulator;
}

std::int64_t beyond_all_places(const Kernel& kernel) {
    const auto range = AxisRanges(kernel).of(kernel.arg_index);
    return range && !kernel.arg_place ? range->high + 1 : std::numeric_limits<std::int64_t>::max();
}

void Accumulator::leave_points_out(const Kernel& kernel) {
    meets_all_points = false;
    first_place = beyond_all_places(kernel);
}

Body reset(const Kernel& kernel, const Accumulator& accumulator, const AffineForm& element) {
    Body body;
    body.push_back(make_store(accumulator.value, {element},
                              identity(accumulator.reducer, kernel.body->dtype)));
    if (accumulator.place)
        body.push_back(
            make_store(*accumulator.place, {element}, make_integer(accumulator.first_place)));
    return body;
}

Body combine(Kernel& kernel, const Accumulator& accumulator, const AffineForm& element,
             const Value& value, const Value& place) {
    if (accumulator.place) return choose(kernel, accumulator, element, value, place, false);
    Body body;
    body.push_back(make_store(accumulator.value, {element}, value, accumulator.reducer));
    return body;
}

Value all_hold(const std::vector<AffineForm>& at_least_zero, const Substitution& here) {
    Value all;
    for (const AffineForm& condition : at_least_zero) {
        const Value each =
            make_operation(Op::ge, {make_index(here(condition)), make_integer(0)}, DType::boolean);
        all = all ? make_operation(Op::logical_and, {all, each}, DType::boolean) : each;
    }
    return all;
}

Value place_at(const Kernel& kernel, Substitution& point) {
    return kernel.arg_place ? point(kernel.arg_place) : make_index(point(kernel.arg_index));
}

Body update(Kernel& kernel, const Accumulator& accumulator, const AffineForm& element,
            Substitution& point) {
    Body body;
    const std::vector<Value> values = share(body, {point(kernel.body)}, kernel.next_let);
    const Value place = accumulator.place ? place_at(kernel, point) : nullptr;
    append(body, accumulator.is_in_order
                     ? choose(kernel, accumulator, element, values[0], place, true)
                     : combine(kernel, accumulator, element, values[0], place));
    return body;
}

Value result(const Kernel& kernel, const Accumulator& accumulator, const AffineForm& element) {
    return make_load(kernel.nest, accumulator.place.value_or(accumulator.value), {element});
}

Body write_all(Kernel& kernel, Substitution& point) {
    Body body;
    std::vector<Value> values;
    for (const Store& write : kernel.writes) {
        values.push_back(point(write.value));
        if (write.at.computed) values.push_back(point(write.at.computed));
    }
    values = share(body, std::move(values), kernel.next_let);
    if (kernel.writes.size() > 1) {
        for (Value& value : values) {
            if (std::holds_alternative<LetValue>(value->term)) continue;
            body.push_back(make_let(kernel.next_let, value));
            value = make_let_value(kernel.next_let++, value->dtype);
        }
    }
    auto value = values.begin();
    for (const Store& write : kernel.writes) {
        Store store = write;
        store.value = *value++;
        store.at = {point(write.at.affine), write.at.computed ? *value++ : nullptr};
        body.push_back({std::move(store)});
    }
    return body;
}

Body guarded(const Value& condition, Body body) {
    if (!condition || body.empty()) return body;
    Body outer;
    outer.push_back({Guard{condition, std::move(body)}});
    return outer;
}

std::int64_t power_of_two_above(std::int64_t n) {
    std::int64_t power = 1;
    while (power < n) power *= 2;
    return power;
}

}  // namespace ricci::codegen
