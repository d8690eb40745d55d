// codegen/flatten.cpp – two free axes of a contraction walked as one
#include "codegen/flatten.h"

#include <algorithm>
#include <optional>

#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

/// Elements from one point of `outer` to the next, in steps of `inner`; 0: there is no such number.
std::int64_t pitch_of(const Kernel& kernel, const Axis& outer, const Axis& inner) {
    const auto moves = [&](const AffineForm& form) {
        return form.coefficient(outer.var) != 0 || form.coefficient(inner.var) != 0;
    };
    // One that moves along rows as it does from row to row would seem not to move with lanes.
    const auto is_hidden = [&](const AffineForm& form) {
        return moves(form) && form.coefficient(outer.var) + form.coefficient(inner.var) == 0;
    };
    const Conditions& conditions = kernel.conditions;
    if (conditions.rest || std::ranges::any_of(conditions.at_least_zero, is_hidden) ||
        std::ranges::any_of(conditions.equal_zero, moves))
        return 0;
    std::optional<std::int64_t> pitch;
    bool is_one = true;
    for_each_node({kernel.body}, [&](const Value& value) {
        if (const auto* var = std::get_if<VarValue>(&value->term)) is_one &= !moves(var->form);
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr) return;
        // Places that are data are checked at the points of rows only.
        if (const Value& place = load->at.computed)
            is_one &= !depends_on(place, outer.var) && !depends_on(place, inner.var);
        if (!moves(load->at.affine)) return;
        const std::int64_t step = load->at.affine.coefficient(inner.var);
        const std::int64_t row = load->at.affine.coefficient(outer.var);
        is_one &= step != 0 && row % step == 0 && pitch.value_or(row / step) == row / step;
        if (is_one) pitch = row / step;
    });
    return is_one && pitch && *pitch >= inner.extent ? *pitch : 0;
}

Flattened flatten(const Kernel& kernel, const Axis& outer, const Axis& inner, std::int64_t pitch) {
    Flattened result{.kernel = kernel,
                     .flat = {},
                     .outer = outer,
                     .inner = inner,
                     .pitch = pitch,
                     .writes = kernel.writes};
    Kernel& over = result.kernel;
    const std::string name = over.nest.at(outer.var).name + over.nest.at(inner.var).name;
    result.flat = {over.nest.add(Var{name}), pitch * (outer.extent - 1) + inner.extent};
    over.needed_where.clear();
    std::erase(over.free, outer);
    std::ranges::replace(over.free, inner, result.flat);
    Substitution along;
    along.replace(outer.var, form(0)).replace(inner.var, form(result.flat.var));
    over.body = along(over.body);
    Substitution both;
    both.replace(outer.var, form(result.flat.var)).replace(inner.var, form(result.flat.var));
    for (AffineForm& condition : over.conditions.at_least_zero) {
        const AffineForm moved = both(condition);
        if (moved != condition) result.conditions.push_back(condition);
        condition = moved;
    }
    for (Store& write : over.writes) {
        write.at = along(write.at);
        write.value = along(write.value);
    }
    return result;
}

}  // namespace

std::vector<Flattened> flattenings(const Kernel& kernel) {
    std::vector<Flattened> all;
    if (!kernel.body || kernel.has_meeting_writes()) return all;
    for (const Axis& outer : kernel.free)
        for (const Axis& inner : kernel.free)
            if (const std::int64_t pitch = outer == inner ? 0 : pitch_of(kernel, outer, inner))
                all.push_back(flatten(kernel, outer, inner, pitch));
    return all;
}

namespace {

/// A body for each vector of lanes, with names for where its first lane is.
Body over_vectors(Nest& nest, const Flattened& f, const AffineForm& first, const Lanes& lanes,
                  const std::function<Body(const Piece&)>& body) {
    const VarId u = nest.add(Var{"u"});
    const VarId outer = nest.add(Var{nest.at(f.outer.var).name});
    const VarId inner = nest.add(Var{nest.at(f.inner.var).name});
    const AffineForm lane = form(u, lanes.lanes);
    Body vector;
    vector.push_back(make_let_var(outer, first + lane, f.pitch, 0));
    vector.push_back(make_let_var(inner, first + lane, 1, f.pitch));
    append(vector, body({lane, form(outer), form(inner)}));
    Body all;
    all.push_back(make_loop(u, Bind::unroll, lanes.unroll, std::move(vector)));
    return all;
}

/// Rows that a vector may lie in.
std::int64_t rows_of_vector(const Flattened& f, std::int64_t lanes) {
    return (f.pitch - 1 + lanes - 1) / f.pitch + 1;
}

Piece in_row(const Flattened& f, const Piece& first, std::int64_t row) {
    return {first.first, first.outer + form(row), first.inner - form(row * f.pitch)};
}

Body store_one(BufferId buffer, const AffineForm& element, Value value) {
    Body body;
    body.push_back(make_store(buffer, {element}, std::move(value)));
    return body;
}

}  // namespace

Body over_pieces(Nest& nest, const Flattened& f, const AffineForm& first, const Lanes& lanes,
                 const std::function<Body(const Piece&)>& body) {
    return over_vectors(nest, f, first, lanes, [&](const Piece& vector) {
        Body pieces;
        for (std::int64_t row = 0; row < rows_of_vector(f, lanes.lanes); ++row) {
            const Piece piece = in_row(f, vector, row);
            const Value is_any = all_hold(
                {form(f.outer.extent - 1) - piece.outer, piece.inner + form(lanes.lanes - 1)},
                Substitution{});
            append(pieces, guarded(is_any, body(piece)));
        }
        return pieces;
    });
}

LanePlaces::LanePlaces(Nest& nest, const Flattened& f, const Lanes& lanes)
    : f_(f),
      lanes_(lanes),
      outer_(add_registers(nest, "outer", DType::i64, lanes.lanes * lanes.unroll)),
      inner_(add_registers(nest, "inner", DType::i64, lanes.lanes * lanes.unroll)) {}

Body LanePlaces::set(Nest& nest, const AffineForm& first) const {
    return over_vectors(nest, f_, first, lanes_, [&](const Piece& vector) {
        return over_lanes(nest, {lanes_.lanes, 1, {}}, [&](const AffineForm& lane) {
            Body body;
            for (std::int64_t row = 0; row < rows_of_vector(f_, lanes_.lanes); ++row) {
                const Piece piece = in_row(f_, vector, row);
                const AffineForm inner = piece.inner + lane;
                Body place = store_one(outer_, piece.first + lane, make_index(piece.outer));
                append(place, store_one(inner_, piece.first + lane, make_index(inner)));
                append(body, guarded(row > 0 ? all_hold({inner}, Substitution{}) : nullptr,
                                     std::move(place)));
            }
            return body;
        });
    });
}

Value LanePlaces::is_taken(const Nest& nest, const AffineForm& lane) const {
    const Value outer = make_load(nest, outer_, {lane});
    const Value inner = make_load(nest, inner_, {lane});
    const auto times = [](const Value& value, std::int64_t factor) {
        return factor == 1 ? value
                           : make_operation(Op::mul, {value, make_integer(factor)}, DType::i64);
    };
    std::vector<AffineForm> forms = f_.conditions;
    if (f_.pitch > f_.inner.extent) forms.push_back(form(f_.inner.extent - 1) - form(f_.inner.var));
    Value all;
    for (const AffineForm& condition : forms) {
        Substitution uniform;
        uniform.replace(f_.outer.var, form(0)).replace(f_.inner.var, form(0));
        const std::int64_t of_outer = condition.coefficient(f_.outer.var);
        const std::int64_t of_inner = condition.coefficient(f_.inner.var);
        // `place >= bound`, each side of what moves with lanes or not. Both in 32 bits where the
        // place is a number or its negative, `number <= bound`.
        std::vector<Value> terms;
        if (of_outer != 0) terms.push_back(times(outer, of_outer));
        if (of_inner != 0) terms.push_back(times(inner, of_inner));
        Value holds;
        if (of_outer + of_inner == -1 && terms.size() == 1) {
            const Value& number = of_outer != 0 ? outer : inner;
            holds =
                make_operation(Op::le, {number, make_index(uniform(condition))}, DType::boolean);
        } else {
            const Value place =
                terms.size() == 1 ? terms[0] : make_operation(Op::add, terms, DType::i64);
            holds = make_operation(Op::ge, {place, make_index(form(0) - uniform(condition))},
                                   DType::boolean);
        }
        all = all ? make_operation(Op::logical_and, {all, holds}, DType::boolean) : holds;
    }
    return all;
}

}  // namespace ricci::codegen
