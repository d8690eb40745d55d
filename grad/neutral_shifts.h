// grad/neutral_shifts.h – maxima that a program subtracts and puts back
#pragma once

#include <set>
#include <vector>

#include "dsl/program.h"

namespace ricci::grad {

/// The maxima and minima of a canonical program that the outputs do not depend on: those that only
/// keep numbers small, such as that of a softmax,
///
///     m[i] := max[k](X[i,k])    s[i] := sum[k](exp(X[i,k]-m[i]))    P[i,j] :=
///     exp(X[i,j]-m[i])/s[i]
///
/// where m + h in place of m gives the same P for every h: numerator and denominator are both
/// exp(-h) times what they were. Their derivative is 0, whichever element they are. Found with the
/// degree of each term in each maximum: a sum is of degree d when it becomes x + d*h, a factor when
/// it becomes x*exp(d*h). Where a maximum is not finite derivatives are as if it were.
[[nodiscard]] std::set<TensorId> neutral_shifts(const Program& program,
                                                const std::vector<TensorId>& outputs);

}  // namespace ricci::grad
