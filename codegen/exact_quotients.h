// codegen/exact_quotients.h – sums over the points at which a quotient is exact
#pragma once

#include <optional>

#include "codegen/equation_maker.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// A sum whose condition takes the points at which a division leaves nothing, as a transposed
/// convolution or the gradient of a strided one are often written,
///
///     for t:  Y[t] := sum[r | (t+1-r)%2 == 0 && …](X[(t+1-r)//2]*W[r])
///
/// as one over the quotient, too,
///
///     for t:  Y[t] := sum[r,z | t+1-r == 2*z && …](X[z]*W[r])
///
/// which is for codegen/residue_classes alone, that solves the equation: the sum has many more
/// points until then. Nothing for other conditions. The equation is a sum with a condition.
[[nodiscard]] std::optional<BoundEquation> over_exact_quotients(EquationMaker& make,
                                                                const BoundEquation& equation);

}  // namespace ricci::codegen
