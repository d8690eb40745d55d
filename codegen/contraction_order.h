// codegen/contraction_order.h – sums of products of several factors, two factors at a time
#pragma once

#include "dsl/bound.h"
#include "dsl/split_complex.h"

namespace ricci::codegen {

/// Reductions of fewer points are computed as they are written: arrays in between, a kernel each,
/// would cost more than they save.
constexpr double least_points_of_order = 1 << 14;

/// The program with sums of products such as
///
///     for i, l:  D[i,l] := sum[j,k](A[i,j]*B[j,k]*C[k,l])
///
/// computed in the order of the fewest operations, where that is at most half of them, or, of
/// three sides and more, as `X[n,i]*A[i,j]*X[n,j]`, at most two thirds:
///
///     for j, l:  D_part[j,l] := sum[k](B[j,k]*C[k,l])
///     for i, l:  D[i,l] := sum[j](A[i,j]*D_part[j,l])
///
/// A factor that alone has an index is summed over it first. What an earlier sum made in between is
/// made once (codegen/made_parts.h). Operations are also those of terms that would be computed at
/// each point: of products of three sides and more, as `exp(E[i,j])` beside `A[i,k]*B[j,k]`, and
/// divisions of all of a product. What divides and is the same along an index of the sum divides
/// one side, or the result. Sums up to each point, or from it on, as the gradient of causal linear
/// attention, are walks in between where `has_walks`,
///
///     for s, d:     dK[s,d] := sum[t,e | s <= t](dO[t,e]*Q[t,d]*V[s,e])
///
///     for s, e, d:  dK_part[s,e,d] := sum[t | s <= t](dO[t,e]*Q[t,d])
///     for s, d:     dK[s,d] := sum[e](dK_part[s,e,d]*V[s,e])
///
/// Of up to ten factors with different indices all orders are compared; sums of more, and sums with
/// other conditions, stay. Where products of fewer factors leave the range of the type, or
/// something is infinite, results may be other than those of whole products. The parts have the
/// type that is accumulated in, of complex sums those of real factors that of its parts. Source:
/// the matrix chain problem for tensors, by subsets (Pfeifer, Haegeman, Verstraete 2014, "Faster
/// identification of optimal contraction sequences"). Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_contraction_order(BoundProgram program,
                                                  double least_points = least_points_of_order,
                                                  bool has_walks = true);

/// A complex program in real numbers, its sums of products of several factors in the best order,
/// too: the parts of such a product are no products any more.
[[nodiscard]] SplitProgram split_in_order(BoundProgram program,
                                          double least_points = least_points_of_order);
/// What is compiled: the program itself where it has no complex types.
[[nodiscard]] BoundProgram in_real_numbers(BoundProgram program,
                                           double least_points = least_points_of_order);

}  // namespace ricci::codegen
