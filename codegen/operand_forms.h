// codegen/operand_forms.h – operands of contractions as functions of sums of indices
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/bound.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

/// The indices of a linear form and their coefficients, the first one positive.
using Direction = std::vector<std::pair<std::uint32_t, std::int64_t>>;

/// An operand as a function of directions.
struct OperandForms {
    Expr term;
    std::vector<Direction> directions;  ///< those of the innermost subscripts last
    std::vector<Expr> forms;            ///< the integer terms that are linear in one direction
};

/// The form over index values alone, if the term is one and depends on an index.
[[nodiscard]] std::optional<LinearForm> index_form(Expr e);
[[nodiscard]] IndexId index_of(const LinearForm::Part& part);

/// A multiple of the value of a direction.
struct Multiple {
    std::int64_t factor = 1;
    Direction direction;
};
/// Accesses of an equation whose neighbours are not neighbours in memory, and the reduced indices
/// r = s*q + rho that were split for them: by rho.
struct Strided {
    struct Split {
        IndexId reduced{};  ///< r
        std::int64_t step = 1;
        std::optional<IndexId> quotient;  ///< if there are several
    };
    ExprMap<bool> accesses;
    /// A condition may keep other accesses in bounds, which would not hold for an array.
    bool is_alone = false;
    std::map<std::uint32_t, Split> residues;
};

/// The indices of a residue are a direction of their own, the first; the constant is left out.
[[nodiscard]] std::vector<Multiple> multiples(const LinearForm& form, const Strided& strided);

/// Nothing when the term is no function of directions, or a plain read of neighbours.
[[nodiscard]] std::optional<OperandForms> read_operand(Expr term, const Strided& strided);

/// Whether every value of an f32 term is a number of bf16: one that is only chosen, or 0.
[[nodiscard]] bool is_of_bf16(Expr e);
/// Whether the term is an element of an array that is padded and nothing else (what
/// codegen/guarded_reads finds again).
[[nodiscard]] bool is_padded(Expr e);

}  // namespace ricci::codegen
