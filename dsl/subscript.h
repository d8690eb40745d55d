// dsl/subscript.h – a subscript read as an affine form of indices
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "dsl/expr.h"

namespace ricci {

/// `sum of coefficient * index + rest`, where coefficients and rest are free of indices (literals,
/// sizes, scalars). With `divisor` it is the form of e in a subscript `e // divisor`.
struct Subscript {
    struct Term {
        IndexId index;
        Expr coefficient;
    };
    std::vector<Term> terms;
    Expr rest;
    std::optional<IndexId> plain;  ///< the subscript is this index alone
    std::optional<Expr> divisor;
    bool is_opaque = false;        ///< constrains nothing: `e % c`, or not affine
    std::vector<IndexId> indices;  ///< all that occur

    [[nodiscard]] bool mentions(IndexId index) const {
        return std::find(indices.begin(), indices.end(), index) != indices.end();
    }
    [[nodiscard]] bool is_linear_in(IndexId index) const {
        return std::any_of(terms.begin(), terms.end(),
                           [&](const Term& term) { return term.index == index; });
    }
};

[[nodiscard]] Subscript read_subscript(Context& context, Expr e);
/// Whether the term is a negative literal.
[[nodiscard]] bool is_negative(Expr e) noexcept;

}  // namespace ricci
