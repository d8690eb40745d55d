// dsl/derived_reducer.h – reducers that are formulas of sums, products and maxima
#pragma once

#include "dsl/program.h"

namespace ricci {

/// Whether the reducer is one of the six that are evaluated as such: sum, prod, max, min, argmax,
/// argmin.
[[nodiscard]] bool is_basic(Reducer reducer) noexcept;

/// The term with every other reducer written out:
///
///   mean       sum / count of the domain
///   count      sum of 1 where the body holds
///   any, all   max, min of the body's truth
///   logsumexp  m + log(sum(exp(x - m))), m the maximum where that is finite and 0 elsewhere
///   norm       root of the sum of squared magnitudes
///
/// Bound indices of the parts are new, so that no two reductions share one.
[[nodiscard]] Expr expand_derived_reducers(Program& program, Expr e);

/// The number of points of the ranges of a reduction, whatever its condition.
[[nodiscard]] Expr box_size(const Program& program, const Reduce& reduce);

/// A copy of the reduction over new indices.
[[nodiscard]] Expr with_new_indices(Program& program, const Reduce& reduce);

}  // namespace ricci
