// grad/gather.h – a scattered sum as a gather: inversion of the write map
#pragma once

#include <vector>

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/names.h"
#include "grad/rules.h"

namespace ricci::grad {

/// for x in the box of `indices` where `condition` holds:  array[at(x)] += d(x)
struct Relation {
    TensorId array;
    std::vector<IndexId> indices;
    std::size_t reduced = 0;  ///< how many of the indices, from the end, the forward reduced
    Expr condition;           ///< empty: none
    std::vector<Expr> at;
    Cotangent d;
};

/// An array's elements as a function of its own indices: `value` is free of reductions, or a sum at
/// the root.
struct Gathered {
    std::vector<IndexId> indices;  ///< one for each dimension, over the whole extent
    Expr value;
};

/// The relation as the value of each element of the array: the sum of `d(x)` over the points x that
/// write to it. Subscripts that are one index rename it; a subscript in which an index has the
/// coefficient 1 or -1 eliminates that index (`A[t] += … at o + k` is `o = t - k`), whose range
/// becomes a condition of the sum unless it always holds; any other subscript becomes an equation
/// in the condition. New indices are added to the program.
[[nodiscard]] Gathered gather(Program& program, const Names& names, const Extents& extents,
                              const Relation& relation);

}  // namespace ricci::grad
