// dsl/expand.h – sums of products of differences as sums of plain products, where that is asked for
#pragma once

#include "dsl/bound.h"
#include "dsl/program.h"

namespace ricci {

/// The program with sums multiplied out where their products mix what depends on different indices:
///
///     D[i,j] := sum[k]((W[k,i]-X[k,j])^2)
///     D[i,j] := sum[k](W[k,i]*W[k,i]) + sum[k](X[k,j]*X[k,j]) - 2*sum[k](W[k,i]*X[k,j])
///
/// so that at most one sum over all of the indices is left, which is a contraction, and factors
/// that a sum does not change stand in front of it. Other sums stay as they are. Fewer operations,
/// but not the same rounding: where the parts nearly cancel their digits are lost, and what is
/// infinite in one of them may become NaN. So this is done on request only. The result is
/// canonical.
///
/// It is for arrays of one type (`require_one_type`): otherwise each part would be computed in a
/// type of its own.
[[nodiscard]] Program expand(const Program& program);

/// Throws: `type` unless all arrays whose elements make values of an expanded program have one of
/// the types f32, f64, c64, c128, those in conditions included. Those in subscripts may have any;
/// numbers adopt that of arrays.
void require_one_type(const Program& program, const Signature& given);

}  // namespace ricci
