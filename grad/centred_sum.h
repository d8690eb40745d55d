// grad/centred_sum.h – sums of differences to a mean
#pragma once

#include "dsl/program.h"

namespace ricci::grad {

/// Whether the term is a sum of differences to their own mean, each times what is the same for all,
///
///     sum[c](2*(X[n,c] - m[n])*g[n])    where m[n] := sum[c](X[n,c])/size(X,1)
///
/// which is 0: the derivative of a variance by the mean in it, as layer and batch normalisation
/// have it. Computed, it would be the rounding errors of the mean.
[[nodiscard]] bool is_centred_sum(const Program& program, Expr e);

}  // namespace ricci::grad
