// codegen/keyed_places.h – places of the extreme elements of each key
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with places of extremes that are looked for by a key, as the gradient of a maximum
/// over the edges of a graph has them,
///
///     for g:  place[g] := argmax[e | s[e] == g](x[e])
///
/// written as the extremes, and the first places at which they stand:
///
///     for g:  best[g] := max[e | s[e] == g](x[e])
///     for g:  place[g] := min[e | s[e] == g && (x[e] == best[g] || isnan(x[e]))](e)
///
/// which are updates of the element of each key (codegen/keyed.h). Only elements of arrays are
/// compared again, whose values are those that were stored. Few keys are searched as they are.
/// Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_keyed_places(BoundProgram program);

}  // namespace ricci::codegen
