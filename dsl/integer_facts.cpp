// dsl/integer_facts.cpp – what is known of integer terms from the ranges of their indices
#include "dsl/integer_facts.h"

#include <algorithm>

#include "dsl/extent.h"

namespace ricci {
namespace {

bool keeps_integers(Op op) {
    return op == Op::add || op == Op::mul || op == Op::neg || op == Op::floordiv || op == Op::mod ||
           op == Op::min || op == Op::max;
}

/// The smallest value of an integer form over the ranges of its indices, as a form of sizes.
std::optional<LinearForm> smallest(const Program& program, Expr e) {
    Context& context = *program.context;
    const auto form = linear_form(e);
    if (!form) return std::nullopt;
    Expr total = context.integer(form->constant);
    for (const auto& [atom, coefficient] : form->parts) {
        Expr extreme = atom;
        if (const auto* value = std::get_if<IndexValue>(&atom->term)) {
            const Index& index = program.at(value->index);
            extreme = coefficient > 0
                          ? index.lower
                          : integer_difference(context, index.upper, context.integer(1));
        }
        total = integer_sum(context, total, integer_scale(context, extreme, coefficient));
    }
    return linear_form(total);
}

}  // namespace

bool IntegerTerms::contains(Expr e) {
    const auto known = known_.find(e);
    if (known != known_.end()) return known->second;
    const bool result = decide(e);
    known_.emplace(e, result);
    return result;
}

bool IntegerTerms::decide(Expr e) {
    if (e->dtype != DType::none) return is_integer(e->dtype);
    if (std::holds_alternative<IndexValue>(e->term) || std::holds_alternative<Size>(e->term))
        return true;
    if (is_literal(e))
        return std::holds_alternative<std::int64_t>(std::get<Literal>(e->term).value);
    const auto* apply = std::get_if<Apply>(&e->term);
    return apply && keeps_integers(apply->op) &&
           std::ranges::all_of(apply->args, [&](Expr a) { return contains(a); });
}

bool is_at_least(const Program& program, Expr e, std::int64_t least) {
    const auto form = smallest(program, e);
    return form && form->constant >= least &&
           std::ranges::all_of(form->parts, [](const auto& part) {
               return part.coefficient > 0 && std::holds_alternative<Size>(part.atom->term);
           });
}

std::optional<bool> decide_comparison(const Program& program, Op op, Expr a, Expr b) {
    if (op == Op::le) return decide_comparison(program, Op::ge, b, a);
    if (op == Op::lt) return decide_comparison(program, Op::gt, b, a);
    if (a->dtype != b->dtype) return std::nullopt;
    const Expr above = integer_difference(*program.context, a, b);
    const Expr below = integer_difference(*program.context, b, a);
    if (op == Op::ge || op == Op::gt) {
        const std::int64_t strict = op == Op::gt ? 1 : 0;
        if (is_at_least(program, above, strict)) return true;
        if (is_at_least(program, below, 1 - strict)) return false;
        return std::nullopt;
    }
    const bool equal = is_literal(above, 0);
    const bool apart = is_at_least(program, above, 1) || is_at_least(program, below, 1);
    if (!equal && !apart) return std::nullopt;
    return equal == (op == Op::eq);
}

}  // namespace ricci
