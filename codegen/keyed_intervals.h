// codegen/keyed_intervals.h – sums over the points in whose intervals an element lies
#pragma once

#include <vector>

#include "dsl/bound.h"

namespace ricci::codegen {

/// Those of `points` that move intervals which a condition gives to `elements`: both ends, of axes
/// that are worth it.
[[nodiscard]] std::vector<IndexId> moving_intervals(const BoundProgram& program,
                                                    const std::vector<IndexId>& points,
                                                    Expr condition,
                                                    const std::vector<IndexId>& elements);

/// The indices of a sum that move intervals in which the result's elements lie, as the
/// gradient of a sum over such an interval, `y[i] := sum[e | e >= p[i] && e <
/// p[i+1]](v[e]*x[c[e]])`, has them,
///
///     for e:  dv[e] := sum[i | e >= p[i] && e < p[i+1]](dy[i]*x[c[e]])
///
/// and boxes that are painted: each of their points is better asked once for its elements than each
/// element for all points (`with_keyed_updates`). Empty for other equations and short axes.
[[nodiscard]] std::vector<IndexId> points_of_intervals(const BoundProgram& program,
                                                       const BoundEquation& equation);

/// How many updates there are to be expected: of intervals, which seldom overlap, those of one.
[[nodiscard]] double updates_by(const BoundProgram& program, const BoundEquation& update);

/// Whether the equation is such an update, `D[e] += (e >= p[i] && e < p[i+1] ? dy[i]*x[c[e]] : 0)`:
/// as a sum for each element it would ask for all points again.
[[nodiscard]] bool updates_intervals(const BoundProgram& program, const BoundEquation& equation);

}  // namespace ricci::codegen
