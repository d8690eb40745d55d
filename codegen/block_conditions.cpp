// codegen/block_conditions.cpp – whether a condition holds at all points of a block, in lanes
#include "codegen/block_conditions.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codegen/integer_ranges.h"
#include "codegen/nest_build.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// An integer whose least or greatest value is compared with a number.
struct Comparison {
    Value value;
    Reducer extreme = Reducer::min;
    Op op = Op::ge;
    Value limit;
};

/// The same in the type that an integer was widened from, where that holds the limit.
void narrow(Comparison& comparison) {
    const auto* convert = std::get_if<Convert>(&comparison.value->term);
    if (convert == nullptr || !is_integer(convert->a->dtype)) return;
    const std::optional<IndexRange> range = range_of(convert->a->dtype);
    const std::int64_t limit = std::get<Constant>(comparison.limit->term).integer;
    // Negative numbers are 0 in types without a sign.
    const DType wide = comparison.value->dtype;
    const bool is_same_number = promote(convert->a->dtype, wide) == wide;
    if (!range || !is_same_number || limit < range->low || limit > range->high) return;
    comparison.value = convert->a;
    comparison.limit = make_integer(limit, convert->a->dtype);
}

/// A condition that compares an integer with a number.
std::optional<Comparison> comparison_of(const Value& condition) {
    const auto* operate = std::get_if<Operate>(&condition->term);
    const bool is_least = operate != nullptr && (operate->op == Op::ge || operate->op == Op::gt);
    const bool is_greatest = operate != nullptr && (operate->op == Op::le || operate->op == Op::lt);
    if ((!is_least && !is_greatest) || !is_integer(operate->args[0]->dtype) ||
        !std::holds_alternative<Constant>(operate->args[1]->term))
        return std::nullopt;
    Comparison result{.value = operate->args[0],
                      .extreme = is_least ? Reducer::min : Reducer::max,
                      .op = operate->op,
                      .limit = operate->args[1]};
    narrow(result);
    return result;
}

/// Comparisons that all hold for the extremes of points where the condition does at each.
std::vector<Comparison> comparisons_of(const Value& condition) {
    std::vector<Comparison> result;
    for (const Value& each : conjuncts(condition)) {
        const Comparison comparison =
            comparison_of(each).value_or(Comparison{.value = make_convert(each, DType::i32),
                                                    .extreme = Reducer::min,
                                                    .op = Op::gt,
                                                    .limit = make_integer(0, DType::i32)});
        const auto is_equal = [&](const Comparison& other) {
            return other.value == comparison.value && other.op == comparison.op &&
                   std::get<Constant>(other.limit->term) ==
                       std::get<Constant>(comparison.limit->term);
        };
        if (std::ranges::none_of(result, is_equal)) result.push_back(comparison);
    }
    return result;
}

}  // namespace

Value holds_in_block(Kernel& kernel, Body& body, VarId start, std::int64_t count,
                     const std::function<Value(const AffineForm& place)>& condition) {
    RICCI_ASSERT(count % lanes_together == 0, "lanes ask whole vectors of points");
    Nest& nest = kernel.nest;
    const VarId vector = nest.add(Var{"v"});
    std::vector<std::pair<BufferId, BufferId>> extremes;  // in lanes, and of all
    const auto over_vector = [&](const auto& point) {
        return over_lanes(nest, {lanes_together, 1, {}}, point);
    };
    const std::vector<Comparison> named = comparisons_of(condition(form(vector)));
    for (const Comparison& each : named)
        extremes.emplace_back(add_registers(nest, "extreme", each.value->dtype, lanes_together),
                              add_registers(nest, "extreme", each.value->dtype, 1));
    append(body, over_vector([&](const AffineForm& lane) {
               Body stores;
               for (std::size_t i = 0; i < named.size(); ++i)
                   stores.push_back(make_store(extremes[i].first, {lane},
                                               identity(named[i].extreme, named[i].value->dtype)));
               return stores;
           }));
    Body points = over_vector([&](const AffineForm& lane) {
        Substitution here;
        here.replace(vector, form(vector) + lane);
        std::vector<Value> values;
        for (const Comparison& each : named) values.push_back(here(each.value));
        Body stores;
        values = share(stores, std::move(values), kernel.next_let);
        for (std::size_t i = 0; i < named.size(); ++i)
            stores.push_back(make_store(extremes[i].first, {lane}, values[i], named[i].extreme));
        return stores;
    });
    body.push_back(make_loop(vector, Bind::serial, bound(form(start)),
                             bound(form(start) + form(count)), std::move(points), lanes_together));
    Value holds;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const auto& [lanes, all] = extremes[i];
        body.push_back(
            make_store(all, {form(0)}, identity(named[i].extreme, named[i].value->dtype)));
        append(body, over_vector([&](const AffineForm& lane) {
                   Body fold;
                   fold.push_back(make_store(all, {form(0)}, make_load(nest, lanes, {lane}),
                                             named[i].extreme));
                   return fold;
               }));
        const Value each = make_operation(
            named[i].op, {make_load(nest, all, {form(0)}), named[i].limit}, DType::boolean);
        holds = holds ? make_operation(Op::logical_and, {holds, each}, DType::boolean) : each;
    }
    body.push_back(make_let(kernel.next_let, holds));
    return make_let_value(kernel.next_let++, DType::boolean);
}

std::vector<Value> narrow_conjuncts(const Value& condition) {
    std::vector<Value> all = conjuncts(condition);
    for (Value& each : all)
        if (const std::optional<Comparison> found = comparison_of(each))
            each = make_operation(found->op, {found->value, found->limit}, DType::boolean);
    return all;
}

}  // namespace ricci::codegen
