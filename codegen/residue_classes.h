// codegen/residue_classes.h – sums over places that a stride leaves, class by class
#pragma once

#include "codegen/joined_residues.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with sums of few of many points, as the gradient of a strided read has them,
///
///     for t:  dA[t] := sum[y | 0 <= t - 2*y < 3](dO[y]*F[t-2*y])
///
/// written so that they run over those points alone: an equation for each residue class of t, in
/// which every quotient is exact and the ranges stand still,
///
///     for q:  dA[2*q]   := sum[m in 0:2 | 0 <= q-m < size(dO)](dO[q-m]*F[2*m])
///     for q:  dA[2*q+1] := sum[m in 0:1 | 0 <= q-m < size(dO)](dO[q-m]*F[2*m+1])
///
/// Neighbouring residues whose ranges are the same are an index of one equation, as all those of a
/// kernel that is as long as its stride: for q, rho in 0:16: dA[16*q+rho] := dO[q]*F[rho].
/// A band in which the reduced index has a step of 1, as that of the gradient of such a sum, is one
/// over its width: with t = 2*y + r, `0 <= t - 2*y < 3` is r in 0:3.
/// Updates at affine places become such sums first (codegen/gather_update.h). With a stride of 1
/// there is one class. Equations between two indices, `t == 2*y + 3*r`, are
/// solved too. What has fewer than `least_points` points stays as it is. The order in which points
/// are summed may differ from that of the equation.
/// Classes of a new array's innermost index, whose elements stand apart, may be written
/// `side_by_side`, and brought to their places by an equation of its own,
///
///     for q:  R[0,q] := sum[m in 0:2 | …](dO[q-m]*F[2*m])
///     for q:  R[1,q] := sum[m in 0:1 | …](dO[q-m]*F[2*m+1])
///     for q, r in 0:2:  dA[2*q+r] := R[r,q]
///
/// for targets that store such elements one by one: the gradient of a depthwise convolution of 3x3
/// and stride 2 (128 channels of 56x56) takes 0.13 ms, not 0.74 (Zen 3).
/// Classes of sums with few rows may be one equation with an index more, too, whose conditions say
/// which points are of which residue (`joined`, codegen/joined_residues.h).
/// Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_residue_classes(BoundProgram program, double least_points,
                                                bool side_by_side = false,
                                                JoinedResidues joined = JoinedResidues::never);

}  // namespace ricci::codegen
