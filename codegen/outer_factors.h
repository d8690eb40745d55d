// codegen/outer_factors.h – constant factors of what is summed, multiplied once instead
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Takes the constants that a floating sum multiplies and divides its terms by, as the 8 of
/// `Q[i,k]*K[j,k]/8`, out of it: `sum(c*x)` is `c*sum(x)`, and each term is an operation and a
/// rounding shorter. Only factors from 2^-16 to 2^16 in magnitude go: others may be there to keep
/// the sum in the range of its type.
void take_out_factors(Kernel& kernel);

}  // namespace ricci::codegen
