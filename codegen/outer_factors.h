// codegen/outer_factors.h – constant factors of what is summed, multiplied once instead
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Takes the constants that a floating sum of products multiplies and divides its terms by, as the
/// 8 of `Q[i,k]*K[j,k]/8`, out of it: `sum(c*x*y)` is `c*sum(x*y)`, and each term is an operation
/// and a rounding shorter. Only factors from 2^-16 to 2^16 in magnitude go: others may be there to
/// keep the sum in the range of its type, as the divisor of `sum(x/n)` may be.
void take_out_factors(Kernel& kernel);

}  // namespace ricci::codegen
