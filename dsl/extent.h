// dsl/extent.h – arithmetic on extents and subscripts: integer terms kept in affine order
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/expr.h"

namespace ricci {

/// An integer term as `constant + sum of coefficient * atom`; an atom is anything that is no sum,
/// no negation and no product with an integer literal: sizes, indices, scalars, `//`, `%`, `max`, …
struct LinearForm {
    struct Part {
        Expr atom;
        std::int64_t coefficient = 0;
    };
    std::int64_t constant = 0;
    std::vector<Part> parts;  ///< in order of first occurrence, coefficients not 0

    [[nodiscard]] std::int64_t coefficient(Expr atom) const noexcept;
};

/// The affine reading of an integer term; nothing on overflow.
[[nodiscard]] std::optional<LinearForm> linear_form(Expr e);
/// The term of a form: positive parts first, then negative ones, then the constant.
[[nodiscard]] Expr to_expr(Context& context, const LinearForm& form);

// Integer terms with like parts collected, so that `N - (K - 1) + (K - 1)` is `N`.
[[nodiscard]] Expr integer_sum(Context& context, Expr a, Expr b);
[[nodiscard]] Expr integer_difference(Context& context, Expr a, Expr b);
[[nodiscard]] Expr integer_scale(Context& context, Expr a, std::int64_t factor);
[[nodiscard]] Expr integer_product(Context& context, Expr a, Expr b);
/// floor(a / divisor), divisor > 0.
[[nodiscard]] Expr floor_quotient(Context& context, Expr a, Expr divisor);
/// The larger and the smaller; decided at once where the difference is a literal.
[[nodiscard]] Expr larger(Context& context, Expr a, Expr b);
[[nodiscard]] Expr smaller(Context& context, Expr a, Expr b);

}  // namespace ricci
