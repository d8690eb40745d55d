// grad/support.h – where a derivative can be other than 0
#pragma once

#include <functional>
#include <vector>

#include "grad/gather.h"

namespace ricci::grad {

/// Conditions on a derivative's indices, all of which hold wherever it is not 0: those of its
/// guards and sums. `supports` gives those of what an access reads, in terms of its subscripts.
[[nodiscard]] std::vector<Expr> support(
    const Program& program, const Gathered& derivative,
    const std::function<std::vector<Expr>(const Access&)>& supports);

/// The derivative, read only where all of the conditions hold: `c ? d : 0` is d where c is of them.
[[nodiscard]] Expr without_known_guards(Context& context, Expr derivative,
                                        const std::vector<Expr>& conditions);

}  // namespace ricci::grad
