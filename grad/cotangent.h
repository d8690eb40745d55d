// grad/cotangent.h – derivatives that count only where a condition holds
#pragma once

#include <vector>

#include "dsl/expr.h"

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

}  // namespace ricci::grad
