// dsl/typed_literal.h – literals of a type: what a number becomes there
#pragma once

#include <optional>
#include <vector>

#include "dsl/expr.h"

namespace ricci {

/// The value of a real literal; of type u64 by its bits.
[[nodiscard]] double real_value(Expr literal);

/// The literal converted to an integer or floating type: rounded to nearest even; to an integer
/// towards 0, beyond its ends to the nearest end, NaN to 0.
[[nodiscard]] Expr saturated_literal(Context& context, Expr literal, DType dtype);

/// An integer literal or bool as one of an integer type, or nothing where the type has no such
/// number. `is_modular`: a negative number of an unsigned type stands for its complement.
[[nodiscard]] std::optional<Expr> fitted_literal(Context& context, Expr literal, DType dtype,
                                                 bool is_modular);

/// Leaves out factors of exactly 1; one factor stays.
void drop_ones(std::vector<Expr>& factors);

}  // namespace ricci
