// grad/product.h – terms as products of factors divided by others
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/program.h"

namespace ricci::grad {

using Factors = std::vector<Expr>;

struct Product {
    bool is_negative = false;
    Factors above = {};
    Factors below = {};
};

/// The term as a product, through nested products, quotients and signs. One of very many factors
/// (they may be shared, and then double at each level) is one factor.
[[nodiscard]] Product product_of(Expr e);
[[nodiscard]] Expr to_expr(Context& context, const Product& of);

enum class Side : std::uint8_t { above, below };
/// The term without one factor or divisor, its other operations in the order they had; nothing if
/// it has no such factor.
[[nodiscard]] std::optional<Expr> without(Context& context, Expr e, Expr factor, Side side);

/// The value of a real literal that is finite and not 0.
[[nodiscard]] std::optional<double> real_literal(Expr e);
/// Makes one literal factor of all, in front; none if it is 1.
void fold_literals(Context& context, Product& of);

/// Removes one such factor. Returns whether there was one.
bool take(Factors& from, Expr factor);
/// The factors and divisors that all of the terms have, as often as the one that has fewest.
[[nodiscard]] Product common_factors(const std::vector<Product>& terms);

}  // namespace ricci::grad
