// grad/cotangent.cpp – derivatives that count only where a condition holds
#include "grad/cotangent.h"

#include <algorithm>
#include <optional>

#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::grad {

namespace {

Expr total(Context& context, const std::vector<Expr>& terms) {
    return terms.size() == 1 ? terms.front() : context.apply(Op::add, terms);
}

/// One for each guard, in order of first use.
std::vector<Cotangent> together(Context& context, const std::vector<Cotangent>& uses) {
    std::vector<Expr> guards;
    ExprMap<std::vector<Expr>> terms;
    std::vector<Cotangent> result;
    for (const Cotangent& use : uses) {
        if (!use.guard) {
            result.push_back(use);
            continue;
        }
        std::vector<Expr>& group = terms[use.guard];
        if (group.empty()) guards.push_back(use.guard);
        group.push_back(use.value);
    }
    for (const Expr guard : guards)
        result.push_back({.guard = guard, .value = total(context, terms.at(guard))});
    return result;
}

bool is_negation(Expr e, Expr of) {
    return is_apply(e, Op::logical_not) && std::get<Apply>(e->term).args[0] == of;
}

/// `c ? a : b` under `g`, of a under `g && c` and b under `g && !c`, or the other way round;
/// nothing for other guards.
std::optional<Cotangent> joined(Context& context, const Cotangent& a, const Cotangent& b) {
    const std::vector<Expr> of_a = conjuncts(a.guard);
    const std::vector<Expr> of_b = conjuncts(b.guard);
    const auto [x, y] = std::ranges::mismatch(of_a, of_b);
    const auto all = [&](auto first, auto last) {
        Expr condition;
        for (auto part = first; part != last; ++part)
            condition = context.logical_and(condition, *part);
        return condition;
    };
    const Expr rest_of_a = all(x, of_a.end());
    const Expr rest_of_b = all(y, of_b.end());
    if (!rest_of_a || !rest_of_b) return std::nullopt;
    const Expr guard = all(of_a.begin(), x);
    if (is_negation(rest_of_b, rest_of_a))
        return Cotangent{guard, context.apply(Op::select, {rest_of_a, a.value, b.value})};
    if (is_negation(rest_of_a, rest_of_b))
        return Cotangent{guard, context.apply(Op::select, {rest_of_b, b.value, a.value})};
    return std::nullopt;
}

/// Both branches of a choice as one, so that what comes from both has no guard of its own.
std::vector<Cotangent> joined_branches(Context& context, std::vector<Cotangent> uses) {
    for (std::size_t n = 0; n < uses.size(); ++n)
        for (std::size_t m = 0; m < n && uses[n].guard; ++m) {
            if (!uses[m].guard) continue;
            const auto both = joined(context, uses[m], uses[n]);
            if (!both) continue;
            uses.erase(uses.begin() + std::ptrdiff_t(n));
            uses[m] = *both;
            return joined_branches(context, together(context, uses));
        }
    return uses;
}

}  // namespace

Expr to_expr(Context& context, const Cotangent& d) {
    if (!d.guard) return d.value;
    return context.apply(Op::select, {d.guard, d.value, context.integer(0)});
}

Cotangent sum(Context& context, const std::vector<Cotangent>& uses) {
    // Uses under the same guard stay under it.
    std::vector<Cotangent> guarded;
    std::vector<Expr> values;
    for (const Cotangent& use : joined_branches(context, together(context, uses))) {
        if (use.guard)
            guarded.push_back(use);
        else
            values.push_back(use.value);
    }
    const bool is_everywhere = !values.empty();
    if (!is_everywhere && guarded.size() == 1) return guarded.front();
    Cotangent result;
    for (const Cotangent& use : guarded) {
        values.push_back(to_expr(context, use));
        if (is_everywhere) continue;
        result.guard =
            result.guard ? context.apply(Op::logical_or, {result.guard, use.guard}) : use.guard;
    }
    result.value = total(context, values);
    return result;
}

Cotangent where(Context& context, Expr condition, const Cotangent& d) {
    return {.guard = context.logical_and(d.guard, condition), .value = d.value};
}

}  // namespace ricci::grad
