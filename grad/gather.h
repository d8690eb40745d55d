// grad/gather.h – a scattered sum as a gather: inversion of the write map
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
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
    std::vector<IndexId> quotients = {};  ///< the indices that stand for `e // N` of some `e % N`
};

/// An array's elements as a function of its own indices: `value` is free of reductions, or a sum at
/// the root.
struct Gathered {
    std::vector<IndexId> indices;  ///< one for each dimension, over the whole extent
    Expr value;
};

/// How a relation was solved, for explanations.
struct Inversion {
    enum class Way : std::uint8_t {
        name,      ///< the subscript is one index: renamed
        pivot,     ///< solved for an index of coefficient 1 or -1
        equation,  ///< kept as a condition
    };
    struct Dimension {
        Way way = Way::name;
        IndexId target{};
        Expr subscript;
        std::optional<IndexId> solved = std::nullopt;  ///< of a pivot
        Expr solution = Expr();
    };
    std::vector<Dimension> dimensions;
    std::vector<std::pair<IndexId, Expr>> by_condition;  ///< indices that a condition solved
    std::vector<IndexId> summed;
    Expr condition;  ///< of the sum; empty: none
};

/// The relation as the value of each element of the array: the sum of `d(x)` over the points x that
/// write to it. Subscripts that are one index rename it; a subscript in which an index has the
/// coefficient 1 or -1 eliminates that index (`A[t] += … at o + k` is `o = t - k`), whose range
/// becomes a condition of the sum unless it always holds; any other subscript becomes an equation
/// in the condition. New indices are added to the program. `how`, if given, is filled in.
[[nodiscard]] Gathered gather(Program& program, const Names& names, const Extents& extents,
                              const Relation& relation, Inversion* how = nullptr);

/// Whether a condition compares affine terms, so that a reducer takes it as a bound of a loop.
[[nodiscard]] bool is_loop_bound(Expr condition);

}  // namespace ricci::grad
