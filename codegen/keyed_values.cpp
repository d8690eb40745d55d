// codegen/keyed_values.cpp – equations whose points find their element by data, as keyed values
#include "codegen/keyed_values.h"

#include <algorithm>

#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

template <class T>
bool has(const std::vector<T>& list, const T& value) {
    return std::ranges::find(list, value) != list.end();
}

/// The element of a total [places..., row...], which begins at the lower bounds of the indices.
Expr element_of(EquationMaker& make, TensorId total, const KeyedValues& keyed) {
    std::vector<IndexId> ids;
    for (const KeyedValues::Place& place : keyed.places) ids.push_back(place.index);
    ids.insert(ids.end(), keyed.row.begin(), keyed.row.end());
    return make.context().access(total, make.offsets(ids), make.program().at(total).dtype);
}

/// Stores what each point contributes, [points..., row...]: a reduction is computed once.
void store_values(EquationMaker& make, KeyedValues& keyed, const Reduction& reduction) {
    std::vector<IndexId> ids = keyed.points;
    ids.insert(ids.end(), keyed.row.begin(), keyed.row.end());
    Shape shape;
    for (const IndexId id : ids) shape.push_back(make.program().at(id).extent());
    const std::vector<Expr> at = make.offsets(ids);
    const DType dtype = keyed.value->dtype;
    const TensorId values = make.array(keyed.name + "_values", dtype, shape);
    make.define(values, at, ids, keyed.value, reduction);
    keyed.value = make.context().access(values, at, dtype);
}

bool any_mentions(const std::vector<Keyed>& keys, IndexId id) {
    return std::ranges::any_of(keys, [&](const Keyed& key) { return mentions(key.key, id); });
}

/// Names the indices of the points, the places that they choose, and the row. A free index that a
/// key depends on is a point's too, and chooses the element with the key; what stands for it is
/// returned.
EquationMaker::Numbers name_indices(EquationMaker& make, const BoundEquation& equation,
                                    const std::vector<Keyed>& keys, KeyedValues& keyed) {
    BoundProgram& program = make.program();
    EquationMaker::Numbers own;
    for (const IndexId id : equation.indices) {
        const auto key =
            std::ranges::find_if(keys, [&](const Keyed& each) { return each.index == id; });
        if (key != keys.end()) {
            keyed.places.push_back({id, key->key});
        } else if (any_mentions(keys, id)) {
            const BoundIndex range = program.at(id);
            const IndexId point = make.index(range.name, range.extent());
            program.indices[position(point)] = range;
            keyed.points.push_back(point);
            keyed.places.push_back({id, make.value(point)});
            own.emplace(std::uint32_t(id), make.value(point));
        } else {
            keyed.row.push_back(id);
        }
    }
    return own;
}

}  // namespace

bool mentions(Expr e, IndexId index) { return has(free_indices(e), index); }

void sum_by_key(EquationMaker& make, InverseIndices& indices, const BoundEquation& equation,
                const std::vector<Keyed>& keys, const std::vector<Expr>& rest) {
    BoundProgram& program = make.program();
    const Reduction& reduction = *equation.reduction;
    KeyedValues keyed{.name = program.at(equation.target).name,
                      .places = {},
                      .points = {},
                      .row = {},
                      .valid = {},
                      .value = equation.value,
                      .reducer = reduction.reducer};
    std::vector<IndexId> inner;
    for (const IndexId id : reduction.indices)
        (any_mentions(keys, id) ? keyed.points : inner).push_back(id);
    const EquationMaker::Numbers own = name_indices(make, equation, keys, keyed);
    Expr in_range;
    for (KeyedValues::Place& place : keyed.places) {
        place.key = make.with(place.key, own);
        in_range = make.both(in_range, make.is_value_of(place.index, place.key));
    }
    EquationMaker::Numbers found = own;
    for (const KeyedValues::Place& place : keyed.places)
        found.emplace(
            std::uint32_t(place.index),
            make.choose(in_range, place.key, make.integer(program.at(place.index).lower)));
    Expr condition;
    for (const Expr conjunct : rest) {
        const Expr now = make.with(conjunct, found);
        const std::vector<IndexId> used = free_indices(now);
        const bool is_of_points =
            std::ranges::all_of(used, [&](IndexId id) { return has(keyed.points, id); });
        Expr& place = is_of_points ? keyed.valid : condition;
        place = make.both(place, now);
    }
    if (!inner.empty()) {
        keyed.value = make.with(keyed.value, found);
        Reduction stored = reduction;
        stored.indices = inner;
        stored.condition = condition;
        store_values(make, keyed, stored);
    } else if (condition) {
        keyed.value =
            make.choose(condition, make.with(keyed.value, found),
                        identity(make.context(), reduction.reducer, reduction.accumulator));
    }
    const TensorId total = sum_segments(make, indices, keyed);
    BoundEquation result = equation;
    result.reduction.reset();
    const DType dtype = program.at(equation.target).dtype;
    const Expr value = element_of(make, total, keyed);
    result.value = value->dtype == dtype ? value : make.context().cast(value, dtype, true);
    program.equations.push_back(std::move(result));
}

Meeting meeting(const BoundEquation& equation) {
    Meeting result;
    for (const IndexId id : equation.indices) {
        const auto names =
            std::ranges::count_if(equation.at, [&](Expr e) { return mentions(e, id); });
        const bool is_alone = std::ranges::any_of(equation.at, [&](Expr e) {
            const auto* value = std::get_if<IndexValue>(&e->term);
            return value && value->index == id;
        });
        (names == 1 && is_alone ? result.row : result.points).push_back(id);
    }
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const auto* value = std::get_if<IndexValue>(&equation.at[d]->term);
        if (!value || !has(result.row, value->index)) result.keyed.push_back(d);
    }
    return result;
}

void update_by_key(EquationMaker& make, InverseIndices& indices, const BoundEquation& equation) {
    BoundProgram& program = make.program();
    const BoundTensor target = program.at(equation.target);
    const Meeting found = meeting(equation);
    KeyedValues keyed{.name = target.name,
                      .places = {},
                      .points = found.points,
                      .row = found.row,
                      .valid = {},
                      .value = equation.value,
                      .reducer = {}};
    for (const Reducer reducer : {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min})
        if (update_of(reducer) == equation.op) keyed.reducer = reducer;
    BoundEquation result = equation;
    result.is_injective = true;
    result.reduction.reset();
    result.indices = found.row;
    for (const std::size_t d : found.keyed) {
        const IndexId place = make.index("t", target.shape[d]);
        keyed.places.push_back({place, equation.at[d]});
        result.at[d] = make.value(place);
        result.indices.push_back(place);
    }
    if (equation.reduction) store_values(make, keyed, *equation.reduction);
    if (is_half(keyed.value->dtype)) keyed.value = make.context().cast(keyed.value, DType::f32);
    const TensorId total = sum_segments(make, indices, keyed);
    const Expr value = element_of(make, total, keyed);
    result.value =
        value->dtype == target.dtype ? value : make.context().cast(value, target.dtype, true);
    program.equations.push_back(std::move(result));
}

}  // namespace ricci::codegen
