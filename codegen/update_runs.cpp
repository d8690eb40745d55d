// codegen/update_runs.cpp – updates of one element by neighbouring points, combined first
#include "codegen/update_runs.h"

#include <utility>
#include <vector>

#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Fewer points are quick, and keep their order.
constexpr std::int64_t least_extent = 1024;
/// Of longer rows a turn's additions take as long as one waits for.
constexpr std::int64_t most_elements_of_row = 8;
/// Of an element of a row.
constexpr double most_cycles = 12;

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

bool may_have_runs(const Kernel& kernel, const Axis& axis, const std::optional<Axis>& lane) {
    if (kernel.body || kernel.writes.size() != 1 || !kernel.conditions.is_empty()) return false;
    if (axis.extent < least_extent) return false;
    if (lane && (lane->extent > most_elements_of_row || write_cost(kernel) > most_cycles))
        return false;
    // A million floats by a thousand sorted keys took 3.9 ms, at random 0.6; counts 0.45 in both
    // orders (Zen 3): CPUs pass on what is stored, only floating additions take long. Half types
    // are rounded after each update.
    const Store& update = kernel.writes[0];
    const DType dtype = kernel.nest.at(update.buffer).dtype;
    // A product of some may overflow before a zero.
    if (update.combine == Reducer::prod) return false;
    return update.combine && update.hint == StoreHint::normal && update.at.computed &&
           is_floating(dtype) && !is_half(dtype) && update.at.affine.coefficient(axis.var) == 0 &&
           depends_on(update.at.computed, axis.var) && !is_operation(update.value, Op::select) &&
           (!lane || !depends_on(update.at.computed, lane->var));
}

Body combine_runs(Kernel& kernel, VarId axis, VarId start, std::int64_t count,
                  const std::function<Body()>& write) {
    const auto at = [&](const AffineForm& place) {
        Substitution here;
        here.replace(axis, place);
        return here;
    };
    const auto write_at = [&](const AffineForm& place) {
        Body body = write();
        Substitution here = at(place);
        substitute(body, here);
        return body;
    };
    const Store update = kernel.writes[0];
    Value are_equal;
    std::vector<Value> values = {at(form(axis))(update.value)};
    for (std::int64_t i = 1; i < count; ++i) {
        values.push_back(at(form(axis) + form(i))(update.value));
        const Value first = at(form(start))(update.at.computed);
        const Value other = at(form(start) + form(i))(update.at.computed);
        const Value is_equal = make_operation(Op::eq, {first, other}, DType::boolean);
        // The last place first: keys at random differ there, and no other is compared.
        are_equal = are_equal
                        ? make_operation(Op::logical_and, {is_equal, are_equal}, DType::boolean)
                        : is_equal;
    }
    const Op op = combining_op(*update.combine, kernel.nest.at(update.buffer).dtype);
    kernel.writes[0].value = combined(std::move(values), op);
    Body run = write_at(form(start));
    kernel.writes[0] = update;
    Body points = over_lanes(kernel.nest, {1, count, {}}, [&](const AffineForm& offset) {
        return write_at(form(start) + offset);
    });

    Body turn;
    turn.push_back(make_let(kernel.next_let, are_equal));
    are_equal = make_let_value(kernel.next_let++, DType::boolean);
    append(turn, guarded(are_equal, std::move(run)));
    append(turn, guarded(make_operation(Op::logical_not, {are_equal}, DType::boolean),
                         std::move(points)));
    return turn;
}

}  // namespace ricci::codegen
