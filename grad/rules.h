// grad/rules.h – derivatives of the operations, one row each
#pragma once

#include <vector>

#include "dsl/program.h"
#include "grad/cotangent.h"

namespace ricci::grad {

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
