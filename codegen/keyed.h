// codegen/keyed.h – sums over the points of a key, computed from the points
#pragma once

#include <optional>

#include "base/target.h"
#include "codegen/keyed_way.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with equations such as
///
///     for t, k:  dA[t,k] := sum[i | t == J[i]](dY[i,k])
///
/// or `count[i](J[i] == t)`, `sum[i](J[i] == t ? dY[i,k] : 0)`,
/// whose points are looked for by their key, written so that each point is looked at once:
/// on a CPU as an array of neutral values that each point updates where its key says, in the order
/// of the points,
///
///     for t, k:  dA[t,k] := 0          for i, k in order:  dA[J[i],k] += dY[i,k]
///
/// on a GPU, where updates that may meet follow each other in one thread, with an inverse index
/// (codegen/inverse_index.h), or, where the target has fast gathers and the type atomic sums, as
/// the updates above. Updates of the user's take the same ways there. So the gradient of a gathered
/// read costs what the read costs. Small ones stay as they are. `way`: instead of the cheapest.
/// Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_keyed_updates(BoundProgram program, const Target& target,
                                              std::optional<KeyedWay> way = std::nullopt);

}  // namespace ricci::codegen
