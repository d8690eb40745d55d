// codegen/update_runs.cpp – updates of one element by neighbouring points, combined first
#include "codegen/update_runs.h"

#include <utility>
#include <vector>

#include "codegen/nest_build.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Fewer points are quick, and keep their order.
constexpr std::int64_t least_extent = 1024;

/// Neighbours first, then their results: few wait for each other.
Value combined(std::vector<Value> values, Op op) {
    while (values.size() > 1) {
        std::vector<Value> half;
        for (std::size_t i = 0; i + 1 < values.size(); i += 2)
            half.push_back(make_operation(op, {values[i], values[i + 1]}, values[i]->dtype));
        if (values.size() % 2 == 1) half.push_back(values.back());
        values = std::move(half);
    }
    return values[0];
}

}  // namespace

bool may_have_runs(const Kernel& kernel, const Axis& axis) {
    if (kernel.writes.size() != 1 || axis.extent < least_extent) return false;
    // A million floats by a thousand sorted keys took 3.9 ms, at random 0.6; counts 0.45 in both
    // orders (Zen 3): CPUs pass on what is stored, only floating additions take long. Half types
    // are rounded after each update.
    const Store& update = kernel.writes[0];
    const DType dtype = kernel.nest.at(update.buffer).dtype;
    return update.combine && update.hint == StoreHint::normal && update.at.computed &&
           is_floating(dtype) && !is_half(dtype) && update.at.affine.coefficient(axis.var) == 0 &&
           depends_on(update.at.computed, axis.var);
}

Body combine_runs(Kernel& kernel, VarId axis, const AffineForm& first, std::int64_t count,
                  Body points) {
    const Store& update = kernel.writes[0];
    std::vector<Value> places;
    std::vector<Value> values;
    for (std::int64_t i = 0; i < count; ++i) {
        Substitution here;
        here.replace(axis, first + form(i));
        places.push_back(here(update.at.computed));
        values.push_back(here(update.value));
    }
    const auto is_first = [&](std::int64_t i) {
        return make_operation(Op::eq, {places[0], places[std::size_t(i)]}, DType::boolean);
    };
    Body run;
    const Op op = combining_op(*update.combine, kernel.nest.at(update.buffer).dtype);
    values = share(run, {combined(std::move(values), op), places[0]}, kernel.next_let);
    Store store = update;
    store.at.computed = values[1];
    store.value = values[0];
    run.push_back({std::move(store)});

    // From the last place on: keys at random differ there, and no other is compared.
    Value are_equal = is_first(count - 1);
    for (std::int64_t i = count - 2; i > 0; --i)
        are_equal = make_operation(Op::logical_and, {are_equal, is_first(i)}, DType::boolean);
    Body body;
    body.push_back(make_let(kernel.next_let, are_equal));
    are_equal = make_let_value(kernel.next_let++, DType::boolean);
    append(body, guarded(are_equal, std::move(run)));
    append(body, guarded(make_operation(Op::logical_not, {are_equal}, DType::boolean),
                         std::move(points)));
    return body;
}

}  // namespace ricci::codegen
