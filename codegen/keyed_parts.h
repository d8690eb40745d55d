// codegen/keyed_parts.h – updates that may meet, in parts that do not
//
// Points that update an element their key tells follow each other,
//
//     for i in order:  H[J[i]] += x[i]
//
// in one thread. Where the points are many and the elements few, parts of the points have a copy
// of the elements each, and the copies are combined:
//
//     for c, t:              P[c,t] := 0
//     for c, e in order:     P[c,J[c*n+e]] += x[c*n+e]
//     for t:                 H[t] += sum[c](P[c,t])
//
// How many parts there are follows from the extents alone. Where the update follows on checks of
// its keys, its points make them (codegen/own_checks.h).
#pragma once

#include "base/target.h"
#include "codegen/equation_maker.h"

namespace ricci::codegen {

/// Adds the equations that stand for the update to the maker's program; false where it stays one.
[[nodiscard]] bool update_in_parts(EquationMaker& make, const BoundEquation& update,
                                   const Target& target);

}  // namespace ricci::codegen
