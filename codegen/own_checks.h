// codegen/own_checks.h – checks of keys that the points of an update make along with it
//
// Before anything is written, each key is looked at:
//
//     verdict := min[i](min(J[i], n-1-J[i]))
//     for i in order:  H[J[i]] += x[i]
//
// Where the points update copies that nobody sees (codegen/keyed_parts.h), they may do so before
// the verdict is known, those that exist, and tell of the others:
//
//     for c, e in order:  P[c, is_inside ? J[c*n+e] : 0] += is_inside ? x[c*n+e] : 0
//                         V[c] min= is_inside ? identity : -1
//     verdict := min[c](V[c])
//
// Keys are read from memory once then, by all threads.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "codegen/equation_maker.h"
#include "dsl/walk.h"

namespace ricci::codegen {

/// The equations `[first, end)` of the program give the verdicts of checks of subscripts of the
/// update, whose points are the update's.
struct OwnChecks {
    std::size_t first = 0;
    std::size_t end = 0;
    std::vector<Expr> holds;  ///< at a point, by verdict
    Expr all_hold;
    /// The subscripts, and ones that are inside at every point: they themselves where all hold.
    ExprMap<Expr> inside;
};
/// Nothing unless the update, at what is inside, may run in place of the verdicts: all that it
/// reads is there, and all other subscripts that are data have been checked or need no check.
[[nodiscard]] std::optional<OwnChecks> own_checks(EquationMaker& make, const BoundEquation& update);

}  // namespace ricci::codegen
