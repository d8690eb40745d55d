// codegen/compacted_points.h – those points of a block for which a condition holds
//
//     for i in order:  if 0 <= J[i] && J[i] < n:  H[J[i]] += x[i]
//
// takes a branch at each point, which CPUs guess in vain where keys at random are inside or not.
// Lanes find the points of a block that exist, and these are listed first:
//
//     vector l in 0..16:  holds[v+l] = 0 <= J[b+v+l] && J[b+v+l] < n
//     for p in 0..128:    points[next] = p, next += holds[p]
//     for q in 0..next:   H[J[b+points[q]]] += x[b+points[q]]
#pragma once

#include <cstdint>
#include <functional>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// The statements of `point`, which gives them at a place, for those of `count` points from `start`
/// on, a multiple of 16, where the condition holds, which lanes may ask at all of them; `first` is
/// done before them if there are any. Data stands for the place, in what is read and computed there
/// alone: no loop of `point` goes by it.
[[nodiscard]] Body compacted_points(Kernel& kernel, VarId start, std::int64_t count,
                                    const std::function<Value(const AffineForm& place)>& condition,
                                    Body first,
                                    const std::function<Body(const AffineForm& place)>& point);

}  // namespace ricci::codegen
