// grad/rules.h – derivatives of the operations, one row each
#pragma once

#include <vector>

#include "dsl/program.h"

namespace ricci::grad {

/// The derivative of the wanted quantity by a term: `value` where `guard` holds, 0 elsewhere. The
/// guard stays apart until the end, so that what a branch not taken would have computed never meets
/// the zero (0 * inf).
struct Cotangent {
    Expr guard;  ///< empty: everywhere
    Expr value;  ///< empty: no cotangent
};

/// The derivative of a term along the wanted direction, guarded in the same way.
using Tangent = Cotangent;

/// The cotangent of a term used in several places, from those of its uses (one or more).
[[nodiscard]] Cotangent sum(Context& context, const std::vector<Cotangent>& uses);
/// The cotangent restricted to where the condition holds.
[[nodiscard]] Cotangent where(Context& context, Expr condition, const Cotangent& d);
/// `guard ? value : 0` as a term.
[[nodiscard]] Expr to_expr(Context& context, const Cotangent& d);

/// How an operation depends on its operands.
enum class Dependence : std::uint8_t {
    smooth,    ///< has a derivative rule
    constant,  ///< piecewise constant: comparisons, `floor`, `sign`; the derivative is 0
    unknown,   ///< has a derivative that the language cannot express
};
[[nodiscard]] Dependence dependence(Op op) noexcept;

/// What a derivative is computed from: `y = apply.op(apply.args)` and its cotangent. `y` may also
/// be a read of an array that holds the value, which is then preferred to the operands.
struct Step {
    const Apply& apply;
    Expr y;
    Cotangent d;  ///< of y; forward: the tangent of the operand
    /// Values may be complex, a cotangent `d` is then its conjugate: through functions with a
    /// complex derivative it goes by the same rules as a real one.
    bool is_complex = false;
    bool is_norm = false;  ///< `is_norm` of the operation
};
/// Whether the operation is the root of a sum of squared magnitudes, as the reducer `norm` is.
/// Where that is 0 a norm has no derivative; it is taken to be 0, the smallest of its subgradients.
[[nodiscard]] bool is_norm(const Program& program, const Apply& apply);

/// The cotangent of one operand of a smooth operation; its value is empty where the operation does
/// not depend on that operand.
[[nodiscard]] Cotangent pull_back(Context& context, const Step& step, std::size_t operand);
/// What the tangent of one operand gives to that of y; empty likewise.
[[nodiscard]] Tangent push_forward(Context& context, const Step& step, std::size_t operand);

}  // namespace ricci::grad
