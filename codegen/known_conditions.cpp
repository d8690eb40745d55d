// codegen/known_conditions.cpp – values where some conditions are known to hold
#include "codegen/known_conditions.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// The value with each operand as `to` gives it.
template <class To>
Value with_operands(const Value& value, To& to) {
    Substitution parts;
    for (const Value& part : operands(value)) parts.replace(part, to(part));
    return parts(value);
}

}  // namespace

Value EqualTerms::operator()(const Value& value) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    const auto* let = std::get_if<LetValue>(&value->term);
    const auto named = let ? lets.find(let->number) : lets.end();
    const Value result =
        named != lets.end() ? (*this)(named->second) : equal_(with_operands(value, *this));
    known_.emplace(value, result);
    return result;
}

Value KnownConditions::operator()(const Value& value) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    const auto is_known = [&](const Value& part) { return holds_.contains(part); };
    Value result;
    if (value->dtype == DType::boolean && std::ranges::all_of(conjuncts(equal_(value)), is_known)) {
        result = make_integer(1, DType::boolean);
    } else {
        result = with_operands(value, *this);
        const std::vector<Value> args = operands(result);
        if (is_operation(result, Op::logical_and))
            result = is_true(args[0]) ? args[1] : is_true(args[1]) ? args[0] : result;
        else if (is_operation(result, Op::select) && is_true(args[0]))
            result = args[1];
    }
    known_.emplace(value, result);
    return result;
}

bool is_true(const Value& value) {
    const auto* number = std::get_if<Constant>(&value->term);
    return number != nullptr && value->dtype == DType::boolean && number->integer != 0;
}

}  // namespace ricci::codegen
