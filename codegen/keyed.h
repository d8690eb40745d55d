// codegen/keyed.h – sums over the points of a key, computed from the points
#pragma once

#include "base/target.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with equations such as
///
///     for t, k:  dA[t,k] := sum[i | t == J[i]](dY[i,k])
///
/// whose points are looked for by their key, written as an array of neutral values that each point
/// updates where its key says, in the order of the points:
///
///     for t, k:  dA[t,k] := 0          for i, k in order:  dA[J[i],k] += dY[i,k]
///
/// So the gradient of a gathered read costs what the read costs. On a GPU, where updates that may
/// meet follow each other in one thread, only what is large is worth that. Makes new terms in the
/// program's context; other equations stay as they are.
[[nodiscard]] BoundProgram with_keyed_updates(BoundProgram program, const Target& target);

}  // namespace ricci::codegen
