// grad/pushforward.h – symbolic forward mode over one term
#pragma once

#include <functional>

#include "dsl/program.h"
#include "grad/active.h"
#include "grad/rules.h"

namespace ricci::grad {

/// The tangent of the term, where `tangent_of` gives that of a read of an active tensor, or throws
/// where there is none; its value is empty where the term does not change.
/// Linear in the size of the term.
/// Throws: `gradient` where an unknown derivative is needed.
[[nodiscard]] Tangent push_forward(const Program& program, const Differentiated& what,
                                   const Active& active,
                                   const std::function<Expr(const Access&)>& tangent_of);

}  // namespace ricci::grad
