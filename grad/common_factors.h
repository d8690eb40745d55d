// grad/common_factors.h – what the terms of a derivative have in common, taken out of their sums
#pragma once

#include <vector>

#include "dsl/program.h"

namespace ricci::grad {

/// A program with its adjoints, in which divisors that the terms of an adjoint share are taken out
/// of it, also where a term is a sum over a row that divides by them, and quotients that an array
/// of the forward holds are read from it:
///
///     dX := (dP[i,j]/s[i] - sum[k](dP[i,k]*P[i,k]/s[i])) * E[i,j]    where P[i,j] := E[i,j]/s[i]
///     dX := (dP[i,j] - sum[k](dP[i,k]*P[i,k])) * P[i,j]
///
/// Adjoints are what depends on `cotangents`; each of their terms has one cotangent as a factor.
/// The equations of the forward stay as they are.
///
/// A divisor leaves a sum over a row only where another term divides by it at the very same points
/// (of several equal ones those that the term need not have divide the sum as a whole, all but
/// one), or where it is a sum of exponentials of which the term has one. So where it is 0 the
/// result is infinite or NaN before and after, and where it divides nothing (rows that are masked
/// or empty) nothing is divided by it afterwards.
[[nodiscard]] Program with_common_factors(Program program, const std::vector<TensorId>& cotangents);

}  // namespace ricci::grad
