// codegen/term_cost.h – what a term costs to compute, before it is code
#pragma once

#include "dsl/expr.h"

namespace ricci::codegen {

/// Operations of the node itself, without its operands': an addition or a load is 1, a quotient or
/// a function 16.
[[nodiscard]] int cost(Expr node);

}  // namespace ricci::codegen
