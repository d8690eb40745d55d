// dsl/subscript.cpp – a subscript read as an affine form of indices
#include "dsl/subscript.h"

#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// An atom `a * b * index` with factors free of indices as (index, a * b).
std::optional<Subscript::Term> product_term(Context& context, Expr atom) {
    if (const auto* value = std::get_if<IndexValue>(&atom->term))
        return Subscript::Term{value->index, context.integer(1)};
    if (!is_apply(atom, Op::mul)) return std::nullopt;
    std::optional<IndexId> index;
    std::vector<Expr> factors;
    for (Expr factor : std::get<Apply>(atom->term).args) {
        const auto* value = std::get_if<IndexValue>(&factor->term);
        if (value && !index)
            index = value->index;
        else if (free_indices(factor).empty())
            factors.push_back(factor);
        else
            return std::nullopt;
    }
    if (!index) return std::nullopt;
    return Subscript::Term{*index,
                           factors.size() == 1 ? factors.front() : context.apply(Op::mul, factors)};
}

}  // namespace

bool is_negative(Expr e) noexcept {
    const auto* literal = e ? std::get_if<Literal>(&e->term) : nullptr;
    const auto* value = literal ? std::get_if<std::int64_t>(&literal->value) : nullptr;
    return value && *value < 0;
}

Subscript read_subscript(Context& context, Expr e) {
    Subscript result;
    result.indices = free_indices(e);
    result.rest = context.integer(0);
    if (const auto* value = std::get_if<IndexValue>(&e->term)) result.plain = value->index;
    if (is_apply(e, Op::floordiv)) {
        const auto& args = std::get<Apply>(e->term).args;
        if (free_indices(args[1]).empty()) {
            result.divisor = args[1];
            e = args[0];
        }
    }
    const auto form = linear_form(e);
    if (!form) {
        result.is_opaque = true;
        return result;
    }
    result.rest = context.integer(form->constant);
    for (const LinearForm::Part& part : form->parts) {
        auto term = product_term(context, part.atom);
        if (term && result.is_linear_in(term->index)) {
            result.is_opaque = true;  // `2*i + $s*i`: no one coefficient
        } else if (term) {
            term->coefficient = integer_scale(context, term->coefficient, part.coefficient);
            result.terms.push_back(*term);
        } else if (free_indices(part.atom).empty()) {
            result.rest = integer_sum(context, result.rest,
                                      integer_scale(context, part.atom, part.coefficient));
        } else {
            result.is_opaque = true;
        }
    }
    if (result.is_opaque) result.terms.clear();
    return result;
}

}  // namespace ricci
