// codegen/compacted_points.cpp – those points of a block for which a condition holds
#include "codegen/compacted_points.h"

#include <utility>

#include "base/error.h"
#include "codegen/block_conditions.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

constexpr std::int64_t points_of_turn = 8;

/// `turn` from each eighth point on.
template <class Turn>
Stmt in_turns(Nest& nest, std::int64_t count, const Turn& turn) {
    const VarId first = nest.add(Var{"p"});
    return make_loop(first, Bind::serial, bound(0), bound(count), turn(form(first)),
                     points_of_turn);
}

}  // namespace

Body compacted_points(Kernel& kernel, VarId start, std::int64_t count,
                      const std::function<Value(const AffineForm& place)>& condition, Body first,
                      const std::function<Body(const AffineForm& place)>& point) {
    RICCI_ASSERT(count % lanes_together == 0, "lanes ask whole vectors of points");
    Nest& nest = kernel.nest;
    const BufferId holds = add_scratch(nest, "holds", DType::i32, count);
    const BufferId points = add_scratch(nest, "points", DType::i32, count);
    const BufferId next = add_registers(nest, "next", DType::i64, 1);
    const auto next_now = [&](Body& body) {
        body.push_back(make_let(kernel.next_let, make_load(nest, next, {form(0)})));
        return make_let_value(kernel.next_let++, DType::i64);
    };
    const auto over_turn = [&](const auto& each) {
        return over_lanes(nest, {1, points_of_turn, {}}, each);
    };

    Body body;
    const VarId vector = nest.add(Var{"v"});
    Body ask = over_lanes(nest, {lanes_together, 1, {}}, [&](const AffineForm& lane) {
        const AffineForm place = form(vector) + lane;
        // One selection for each conjunct: of AVX2 lanes that two comparisons share are packed.
        const Value none = make_integer(0, DType::i32);
        Value is_one = make_integer(1, DType::i32);
        for (const Value& each : narrow_conjuncts(condition(form(start) + place)))
            is_one = make_operation(Op::select, {each, is_one, none}, DType::i32);
        Body stores;
        const std::vector<Value> shared = share(stores, {is_one}, kernel.next_let);
        stores.push_back(make_store(holds, {place}, shared[0]));
        return stores;
    });
    body.push_back(
        make_loop(vector, Bind::serial, bound(0), bound(count), std::move(ask), lanes_together));

    body.push_back(make_store(next, {form(0)}, make_integer(0)));
    body.push_back(in_turns(nest, count, [&](const AffineForm& turn) {
        return over_turn([&](const AffineForm& offset) {
            const AffineForm place = turn + offset;
            Body list;
            const Address to{form(0), next_now(list)};
            list.push_back(
                make_store(points, to, make_convert(make_index(place), DType::i32, true)));
            const Value is_one = make_convert(make_load(nest, holds, {place}), DType::i64);
            list.push_back(make_store(next, {form(0)}, is_one, Reducer::sum));
            return list;
        });
    }));

    const Value end = next_now(body);
    const auto is_listed = [&](const AffineForm& number) {
        return make_operation(Op::lt, {make_index(number), end}, DType::boolean);
    };
    const auto listed = [&](const AffineForm& number) {
        const VarId any = nest.add(Var{"point"});
        Body statements = point(form(start) + form(any));
        Body all;
        const Value place = make_load(nest, points, {number});
        all.push_back(make_let(kernel.next_let, make_convert(place, DType::i64)));
        Substitution it;
        it.replace(any, make_let_value(kernel.next_let++, DType::i64));
        substitute(statements, it);
        append(all, std::move(statements));
        return all;
    };
    if (!first.empty()) append(body, guarded(is_listed(form(0)), std::move(first)));
    body.push_back(in_turns(nest, count, [&](const AffineForm& start_of_turn) {
        Body turn;
        const AffineForm last = start_of_turn + form(points_of_turn - 1);
        turn.push_back(make_let(kernel.next_let, is_listed(last)));
        const Value is_full = make_let_value(kernel.next_let++, DType::boolean);
        append(turn, guarded(is_full, over_turn([&](const AffineForm& offset) {
                                 return listed(start_of_turn + offset);
                             })));
        const VarId number = nest.add(Var{"q"});
        Body rest;
        rest.push_back(make_loop(number, Bind::serial, bound(start_of_turn), bound(last),
                                 guarded(is_listed(form(number)), listed(form(number)))));
        const Value is_part = make_operation(
            Op::logical_and,
            {make_operation(Op::logical_not, {is_full}, DType::boolean), is_listed(start_of_turn)},
            DType::boolean);
        append(turn, guarded(is_part, std::move(rest)));
        return turn;
    }));
    return body;
}

}  // namespace ricci::codegen
