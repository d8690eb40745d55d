// dsl/extent.cpp – arithmetic on extents and subscripts: integer terms kept in affine order
#include "dsl/extent.h"

#include <algorithm>
#include <ranges>

namespace ricci {
namespace {

std::optional<std::int64_t> integer_of(Expr e) {
    const auto* literal = std::get_if<Literal>(&e->term);
    const auto* value = literal ? std::get_if<std::int64_t>(&literal->value) : nullptr;
    return value ? std::optional(*value) : std::nullopt;
}

/// form += factor * part. False on overflow.
bool add_part(LinearForm& form, Expr atom, std::int64_t coefficient) {
    for (auto it = form.parts.begin(); it != form.parts.end(); ++it) {
        if (it->atom != atom) continue;
        if (__builtin_add_overflow(it->coefficient, coefficient, &it->coefficient)) return false;
        if (it->coefficient == 0) form.parts.erase(it);
        return true;
    }
    if (coefficient != 0) form.parts.push_back({atom, coefficient});
    return true;
}

/// A product as (integer literal, the other factors as one atom).
std::pair<std::int64_t, Expr> split_product(const Apply& product, Expr whole) {
    if (product.args.size() == 2) {
        if (const auto value = integer_of(product.args[0])) return {*value, product.args[1]};
        if (const auto value = integer_of(product.args[1])) return {*value, product.args[0]};
    }
    return {1, whole};
}

}  // namespace

std::int64_t LinearForm::coefficient(Expr atom) const noexcept {
    for (const Part& part : parts)
        if (part.atom == atom) return part.coefficient;
    return 0;
}

std::optional<LinearForm> linear_form(Expr e) {
    LinearForm form;
    std::vector<std::pair<Expr, std::int64_t>> stack{{e, 1}};
    while (!stack.empty()) {
        const auto [term, factor] = stack.back();
        stack.pop_back();
        if (const auto value = integer_of(term)) {
            std::int64_t scaled = 0;
            if (__builtin_mul_overflow(*value, factor, &scaled) ||
                __builtin_add_overflow(form.constant, scaled, &form.constant))
                return std::nullopt;
        } else if (is_apply(term, Op::add)) {
            const auto& args = std::get<Apply>(term->term).args;
            for (const Expr arg : args | std::views::reverse) stack.emplace_back(arg, factor);
        } else if (is_apply(term, Op::neg)) {
            if (factor == INT64_MIN) return std::nullopt;
            stack.emplace_back(std::get<Apply>(term->term).args.front(), -factor);
        } else if (is_apply(term, Op::mul)) {
            const auto [literal, rest] = split_product(std::get<Apply>(term->term), term);
            std::int64_t scaled = 0;
            if (__builtin_mul_overflow(literal, factor, &scaled)) return std::nullopt;
            if (rest != term)
                stack.emplace_back(rest, scaled);
            else if (!add_part(form, term, factor))
                return std::nullopt;
        } else if (!add_part(form, term, factor)) {
            return std::nullopt;
        }
    }
    const bool fits = std::ranges::none_of(
        form.parts, [](const auto& part) { return part.coefficient == INT64_MIN; });
    return fits ? std::optional(form) : std::nullopt;
}

Expr to_expr(Context& context, const LinearForm& form) {
    std::vector<Expr> terms;
    const auto add = [&](const LinearForm::Part& part) {
        const std::int64_t size = part.coefficient < 0 ? -part.coefficient : part.coefficient;
        Expr term = size == 1 ? part.atom
                              : context.apply(Op::mul, {context.integer(size), part.atom},
                                              bound_type(part.atom));
        terms.push_back(part.coefficient < 0 ? context.neg(term) : term);
    };
    for (const auto& part : form.parts)
        if (part.coefficient > 0) add(part);
    for (const auto& part : form.parts)
        if (part.coefficient < 0) add(part);
    const DType dtype = form.parts.empty() ? DType::none : bound_type(form.parts.front().atom);
    if (form.constant != 0 || terms.empty()) terms.push_back(context.literal(form.constant, dtype));
    return terms.size() == 1 ? terms.front() : context.apply(Op::add, terms, dtype);
}

Expr integer_sum(Context& context, Expr a, Expr b) {
    const Expr sum = context.add(a, b);
    const auto form = linear_form(sum);
    return form ? to_expr(context, *form) : sum;
}

Expr integer_difference(Context& context, Expr a, Expr b) {
    const Expr difference = context.sub(a, b);
    const auto form = linear_form(difference);
    return form ? to_expr(context, *form) : difference;
}

Expr integer_scale(Context& context, Expr a, std::int64_t factor) {
    auto form = linear_form(a);
    bool overflow = !form;
    if (form) {
        overflow |= __builtin_mul_overflow(form->constant, factor, &form->constant);
        for (auto& part : form->parts)
            overflow |= __builtin_mul_overflow(part.coefficient, factor, &part.coefficient);
        std::erase_if(form->parts, [](const auto& part) { return part.coefficient == 0; });
    }
    if (overflow) return context.mul(context.literal(factor, bound_type(a)), a);
    return to_expr(context, *form);
}

Expr integer_product(Context& context, Expr a, Expr b) {
    if (const auto value = integer_of(a)) return integer_scale(context, b, *value);
    if (const auto value = integer_of(b)) return integer_scale(context, a, *value);
    return context.mul(a, b);
}

Expr floor_quotient(Context& context, Expr a, Expr divisor) {
    const auto by = integer_of(divisor);
    if (by == 1) return a;
    const auto form = linear_form(a);
    if (by && *by > 0 && form) {
        const bool exact = std::ranges::all_of(
            form->parts, [&](const auto& p) { return p.coefficient % *by == 0; });
        if (exact) {
            LinearForm quotient = *form;
            const std::int64_t rest = ((form->constant % *by) + *by) % *by;
            quotient.constant = (form->constant - rest) / *by;
            for (auto& part : quotient.parts) part.coefficient /= *by;
            return to_expr(context, quotient);
        }
    }
    return context.apply(Op::floordiv, {a, divisor}, bound_type(a));
}

namespace {

Expr pick(Context& context, Op op, Expr a, Expr b) {
    if (a == b) return a;
    const auto difference = linear_form(context.sub(a, b));
    if (difference && difference->parts.empty())
        return (difference->constant >= 0) == (op == Op::max) ? a : b;
    return context.apply(op, {a, b}, bound_type(a));
}

}  // namespace

Expr larger(Context& context, Expr a, Expr b) { return pick(context, Op::max, a, b); }
Expr smaller(Context& context, Expr a, Expr b) { return pick(context, Op::min, a, b); }

}  // namespace ricci
