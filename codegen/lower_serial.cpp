// codegen/lower_serial.cpp – loops one after the other, made to be read
#include <algorithm>
#include <limits>

#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/scan_walk.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

std::string_view accumulator_name(Reducer reducer) {
    switch (reducer) {
        case Reducer::sum:       return "sum";
        case Reducer::prod:      return "product";
        case Reducer::max:       return "greatest";
        case Reducer::min:       return "least";
        case Reducer::argmax:
        case Reducer::argmin:    return "best";
        case Reducer::mean:
        case Reducer::any:
        case Reducer::all:
        case Reducer::count:
        case Reducer::logsumexp:
        case Reducer::norm:      break;
    }
    return "total";
}

Value test(Op op, const Value& a, const Value& b) {
    return make_operation(op, {a, b}, DType::boolean);
}

/// Keeps the value and its index where they go before the best so far: NaN before numbers, of equal
/// values the one with the smaller index.
Body keep_better(Kernel& kernel, const Accumulator& accumulator, Substitution& point) {
    Body body;
    const std::vector<Value> values = share(body, {point(kernel.body)}, kernel.next_let);
    body.push_back(make_let(kernel.next_let, values[0]));
    const Value value = make_let_value(kernel.next_let++, kernel.body->dtype);
    const Value index = place_at(kernel, point);
    const Value best = make_load(kernel.nest, accumulator.value, {});
    const Value is_earlier = test(Op::lt, index, make_load(kernel.nest, *accumulator.place, {}));
    const Op is_beyond = accumulator.reducer == Reducer::argmax ? Op::gt : Op::lt;
    Value is_better = test(Op::logical_or, test(is_beyond, value, best),
                           test(Op::logical_and, test(Op::eq, value, best), is_earlier));
    if (is_floating(value->dtype)) {
        const Value wins_as_nan = test(Op::logical_and, test(Op::ne, value, value),
                                       test(Op::logical_or, test(Op::eq, best, best), is_earlier));
        is_better = test(Op::logical_or, is_better, wins_as_nan);
    }
    Body stores;
    stores.push_back(make_store(accumulator.value, {}, value));
    stores.push_back(make_store(*accumulator.place, {}, index));
    append(body, guarded(is_better, std::move(stores)));
    return body;
}

/// The accumulator, the loops of the reduction, the writes.
Body reduction(Kernel& kernel) {
    const Accumulator accumulator = make_accumulator(kernel, 1);
    kernel.nest.buffers[std::size_t(accumulator.value)].name =
        accumulator_name(accumulator.reducer);
    Substitution here;
    Body body = reset(kernel, accumulator, {});
    const ReducedLoops reduced = reduced_loops(kernel, kernel.reduced);
    Body inside = kernel.is_arg_reduction() ? keep_better(kernel, accumulator, here)
                                            : update(kernel, accumulator, {}, here);
    std::vector<AxisRange> loops;
    for (const ReducedLoop& loop : reduced.loops)
        loops.push_back({loop.axis, loop.lower, loop.upper});
    append(body, wrap(loops, guarded(reduced.test, std::move(inside))));
    here.replace_let(0, result(kernel, accumulator, {}));
    append(body, write_all(kernel, here));
    return body;
}

}  // namespace

Nest serial_nest(Kernel kernel) {
    Substitution here;
    Body inner = kernel.carry  ? walk_row(kernel)
                 : kernel.body ? reduction(kernel)
                               : write_all(kernel, here);
    std::vector<AxisRange> loops;
    for (const Axis& axis : kernel.free) loops.push_back({axis, bound(0), bound(axis.extent)});
    Body body = wrap(loops, std::move(inner));
    const VarId task = kernel.nest.add(Var{"task"});
    kernel.nest.body.push_back(make_loop(task, Bind::parallel, 1, std::move(body)));
    return std::move(kernel.nest);
}

void lower_serial(Kernel kernel, PlanBuilder& builder) {
    if (points(kernel.free) == 0) return;
    Schedule schedule{Strategy::serial, kernel.nest.name, work_of(kernel)};
    kernel.nest = serial_nest(kernel);
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
