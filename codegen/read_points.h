// codegen/read_points.h – at how many points a term reads a tensor, choices by place considered
#pragma once

#include <cstdint>

#include "dsl/bound.h"

namespace ricci::codegen {

/// Of `points` points of a term, those at which it reads the tensor, each access counted: of
///
///     for i, p in 0:3:  p == 0 ? a[i] : p == 1 ? b[i] : c[i]
///
/// one in three reads `b`. What else decides than the place along a short axis, which kernels write
/// out (codegen/case_axes.h), counts as if both sides were read. An estimate: each place that is
/// chosen is taken to be another one of the axis.
[[nodiscard]] double read_points(const BoundProgram& program, Expr term, TensorId tensor,
                                 double points);

}  // namespace ricci::codegen
