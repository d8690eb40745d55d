// grad/extension.h – reads beyond a border as reads of an array that extends as far as they reach
#pragma once

#include <optional>
#include <vector>

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/gather.h"
#include "grad/names.h"

namespace ricci::grad {

/// `dA[wrap(i+k-1)] += d` in two steps: `E[i+k] += d`, a gather without a border, and then
/// `dA[wrap(s-1)] += E[s]`, in which each element of E is looked at once. In one step every point
/// of the sum over k would look for its turn around A, or its way into the corner of a clamped one.
struct Extension {
    std::vector<Expr> shape;        ///< of E
    std::vector<Expr> at;           ///< where the points of the relation write in E
    std::vector<IndexId> indices;   ///< of an element of E
    std::vector<Expr> at_original;  ///< where the element goes
};

/// Of a relation with a subscript that is a wrapped, reflected or clamped sum of several indices,
/// the first such. E has hardly more elements than there are points, or elements of the array: the
/// sum has small multiples, one of them of 1, the other dimensions are such sums or whole, and no
/// two share an index. Nothing for another relation. New indices are added to the program.
[[nodiscard]] std::optional<Extension> extension(Program& program, const Names& names,
                                                 const Extents& extents, const Relation& relation);

}  // namespace ricci::grad
