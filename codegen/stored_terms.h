// codegen/stored_terms.h – sums of what another equation stores read it
//
// The gradient of `relu(X[i,k]+b[k])` by X is an array whose sum is the gradient by b: in one
// program the sum need not read X and dY again, nor compute anew what a dear function, as gelu's
// derivative, gave.
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with terms of reductions that an equation stores, over the same points and in the
/// same type, replaced by what it stores, where that is an array of the program's outputs and the
/// term reads two arrays as large, or one and takes long to compute. The equation moves before
/// those that read it.
[[nodiscard]] BoundProgram with_stored_terms(BoundProgram program);

}  // namespace ricci::codegen
