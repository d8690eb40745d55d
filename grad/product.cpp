// grad/product.cpp – terms as products of factors divided by others
#include "grad/product.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ricci::grad {

namespace {

constexpr std::size_t most_factors = 64;

bool is_product(Expr e) {
    return is_apply(e, Op::neg) || is_apply(e, Op::mul) || is_apply(e, Op::div);
}

Expr product(Context& context, const Factors& factors) {
    if (factors.empty()) return context.integer(1);
    return factors.size() == 1 ? factors.front() : context.apply(Op::mul, factors);
}

/// Where an operand stands of a term that stands on the side given.
Side side_of(const Apply& apply, std::size_t operand, Side side) {
    const bool is_turned = apply.op == Op::div && operand == 1;
    return is_turned == (side == Side::above) ? Side::below : Side::above;
}

Factors common_to(const std::vector<Product>& terms, Factors Product::* side) {
    Factors common = terms.front().*side;
    for (const Product& term : terms) {
        Factors left = term.*side;
        std::erase_if(common, [&](Expr factor) { return !take(left, factor); });
    }
    return common;
}

}  // namespace

Product product_of(Expr e) {
    Product result;
    std::vector<std::pair<Expr, Side>> open{{e, Side::above}};
    while (!open.empty()) {
        const auto [term, side] = open.back();
        open.pop_back();
        if (!is_product(term)) {
            (side == Side::above ? result.above : result.below).push_back(term);
            continue;
        }
        const auto& apply = std::get<Apply>(term->term);
        result.is_negative ^= apply.op == Op::neg;
        for (std::size_t n = apply.args.size(); n-- > 0;)
            open.emplace_back(apply.args[n], side_of(apply, n, side));
        const std::size_t factors = open.size() + result.above.size() + result.below.size();
        if (factors > most_factors) return {.above = {e}};
    }
    return result;
}

Expr to_expr(Context& context, const Product& of) {
    Expr e = product(context, of.above);
    for (const Expr divisor : of.below) e = context.apply(Op::div, {e, divisor});
    return of.is_negative ? context.apply(Op::neg, {e}) : e;
}

std::optional<Expr> without(Context& context, Expr e, Expr factor, Side side) {
    if (!is_product(e)) return {};
    const auto& apply = std::get<Apply>(e->term);
    std::vector<Expr> args = apply.args;
    for (std::size_t n = 0; n < args.size(); ++n) {
        const bool is_there =
            args[n] == factor && apply.op != Op::neg && side_of(apply, n, side) == Side::above;
        if (!is_there) continue;
        if (apply.op == Op::div)
            return n == 1 ? args[0] : context.apply(Op::div, {context.integer(1), args[1]});
        args.erase(args.begin() + static_cast<std::ptrdiff_t>(n));
        return product(context, args);
    }
    for (Expr& arg : args) {
        const auto n = static_cast<std::size_t>(&arg - args.data());
        if (const auto rest = without(context, arg, factor, side_of(apply, n, side))) {
            arg = *rest;
            return context.apply(apply.op, std::move(args));
        }
    }
    return {};
}

std::optional<double> real_literal(Expr e) {
    if (!is_literal(e)) return {};
    const Number& value = std::get<Literal>(e->term).value;
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        return *whole != 0 ? std::optional(static_cast<double>(*whole)) : std::nullopt;
    const auto* real = std::get_if<double>(&value);
    const bool is_plain = real != nullptr && std::isfinite(*real) && *real != 0;
    return is_plain ? std::optional(*real) : std::nullopt;
}

void fold_literals(Context& context, Product& of) {
    double value = 1;
    std::erase_if(of.above, [&](Expr factor) {
        const auto literal = real_literal(factor);
        value *= literal.value_or(1);
        return literal.has_value();
    });
    if (value == 1) return;
    const bool is_whole = value == std::trunc(value) && std::abs(value) < 1e9;
    of.above.insert(of.above.begin(), is_whole ? context.integer(static_cast<std::int64_t>(value))
                                               : context.literal(value));
}

bool take(Factors& from, Expr factor) {
    const auto found = std::ranges::find(from, factor);
    if (found == from.end()) return false;
    from.erase(found);
    return true;
}

Product common_factors(const std::vector<Product>& terms) {
    return {.above = common_to(terms, &Product::above), .below = common_to(terms, &Product::below)};
}

}  // namespace ricci::grad
