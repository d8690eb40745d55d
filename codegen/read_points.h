// codegen/read_points.h – at how many points a term reads a tensor, choices by place considered
#pragma once

#include <cstdint>

#include "codegen/case_axes.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// Of `points` points of a term, those at which it reads the tensor, each access counted: of
///
///     for i, p in 0:3:  p == 0 ? a[i] : p == 1 ? b[i] : c[i]
///
/// one in three reads `b`; terms of a sum count each by itself. What else decides than the place
/// along an axis of at most `most_places` counts as if both sides were read: kernels write out
/// short axes (codegen/case_axes.h), of others both sides are computed everywhere. An estimate:
/// each place that is chosen is taken to be another one of the axis.
[[nodiscard]] double read_points(const BoundProgram& program, Expr term, TensorId tensor,
                                 double points, std::int64_t most_places = most_case_places);

}  // namespace ricci::codegen
