// codegen/split_quotients.h – indices of sums of which quotients are taken, as quotient and rest
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with reductions in which an index i is divided, as in a convolution of groups,
///
///     for o in 0:64, t:  Y[o,t] := sum[c,k](X[16*(o//16)+c,t+k]*W[o,c,k])
///
/// over two indices in its place, i = 16*q + r, so that all of its places are affine,
///
///     for q in 0:4, r in 0:16, t:  Y[16*q+r,t] := sum[c,k](X[16*q+c,t+k]*W[16*q+r,c,k])
///
/// and the other rewritings see which operands stand still along r. An index whose extent is no
/// multiple of the divisor stays (codegen/split_periods), as does one with quotients that do not
/// all disappear. Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_split_quotients(BoundProgram program);

}  // namespace ricci::codegen
