// codegen/keyed_values.h – equations whose points find their element by data, as keyed values
#pragma once

#include <vector>

#include "codegen/segment_sums.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// An index of the target whose value must be that of a key.
struct Keyed {
    IndexId index{};
    Expr key;  ///< i64
};

/// Whether the term names the index.
[[nodiscard]] bool mentions(Expr e, IndexId index);

/// Puts what the keyed values make in place of the equation:
///   for t, k:  dA[t,k] := sum[i | t == J[i] && rest](dY[i,k])
void sum_by_key(EquationMaker& make, InverseIndices& indices, const BoundEquation& equation,
                const std::vector<Keyed>& keys, const std::vector<Expr>& rest);

/// An update, or a definition of which the last stays, whose points may name one element:
///   for i, k:  H[J[i],k] += X[i,k]
/// as a total of each element and one update. Which indices choose the element together, and which
/// stand alone: another slice at each of their points.
struct Meeting {
    std::vector<IndexId> points;
    std::vector<IndexId> row;
    std::vector<std::size_t> keyed;  ///< the dimensions of the target that points choose
};
[[nodiscard]] Meeting meeting(const BoundEquation& equation);
void update_by_key(EquationMaker& make, InverseIndices& indices, const BoundEquation& equation);

}  // namespace ricci::codegen
