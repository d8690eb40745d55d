// dsl/subscript.h – a subscript read as an affine form of indices
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/program.h"

namespace ricci {

/// `sum of coefficient * index + rest`, where coefficients and rest are free of indices (literals,
/// sizes, scalars). With `divisor` it is the form of e in a subscript `e // divisor`, which stands
/// for `e // divisor + r` too; of a modified subscript it is the form of what is modified.
struct Subscript {
    struct Term {
        IndexId index{};
        Expr coefficient;
    };
    std::vector<Term> terms;
    Expr rest;
    std::optional<IndexId> plain;  ///< the subscript is this index alone
    std::optional<Expr> divisor;
    bool is_opaque = false;    ///< constrains nothing: `e % c`, not affine, or data
    bool is_gathered = false;  ///< data: checked when the program runs
    bool is_free = false;      ///< modified so that it may lie anywhere
    /// Of `pad(e, lo, hi)`: how far e may lie outside.
    std::optional<std::pair<Expr, Expr>> padding;
    std::vector<IndexId> indices;  ///< all that occur

    [[nodiscard]] bool mentions(IndexId index) const {
        return std::ranges::find(indices, index) != indices.end();
    }
    [[nodiscard]] bool is_linear_in(IndexId index) const {
        return std::ranges::any_of(terms, [&](const Term& term) { return term.index == index; });
    }
};

[[nodiscard]] Subscript read_subscript(const Program& program, Expr e);
/// Whether the value depends on elements of arrays or on computed scalars: on data, of which
/// nothing is known before the program runs.
[[nodiscard]] bool reads_data(const Program& program, Expr e);
/// Whether an element at a place that is data is part of the terms.
[[nodiscard]] bool holds_gather(const Program& program, const std::vector<Expr>& roots);
/// The term with the elements of arrays that its value is made of as i64: index arithmetic is done
/// in 64 bits, whatever the type of the data.
[[nodiscard]] Expr with_wide_data(const Program& program, Expr e);
/// The scalars whose values are part of the subscript's value, those of nested subscripts included,
/// but not those that only decide a choice.
[[nodiscard]] std::vector<TensorId> scalars_in_place(const Program& program, Expr subscript);
/// The arrays of which elements are part of a subscript's value as they stand: integers.
[[nodiscard]] std::vector<TensorId> integers_in_place(const Program& program, Expr subscript);
/// The subscript as it is written: scalars with a dollar.
[[nodiscard]] std::string subscript_text(const Program& program, Expr e);
/// Whether the term is a negative literal.
[[nodiscard]] bool is_negative(Expr e) noexcept;

}  // namespace ricci
