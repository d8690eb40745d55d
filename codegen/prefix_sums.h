// codegen/prefix_sums.h – sums up to each point: blocks, other indices, and what all results take
#pragma once

#include <cstdint>
#include <limits>

#include "dsl/bound.h"

namespace ricci::codegen {

/// Which of them are cut.
struct PrefixLimits {
    double points = 1 << 12;  ///< fewer, of all rows, are walked as they are
    std::int64_t rows = 32;   ///< so many are walked side by side: whole ones (codegen/lower_scan)
};

/// All that can be.
inline constexpr PrefixLimits all_prefixes = {.points = 0,
                                              .rows = std::numeric_limits<std::int64_t>::max()};

/// The program with sums, products and extremes of what comes before each point, or from it on,
///
///     for i, k:  Y[i,k] := sum[l | l <= k](f(i,l))
///
/// in blocks of B points where rows are few: blocks are rows that are walked side by side, twice,
///
///     for i, b:  p[i,b] := sum[s in 0:B](f(i,B*b+s))                     of each block
///     for i, b:  P[i,b] := sum[c | c < b](p[i,c])                        of all before it: again
///     so for i, k:  Y[i,k] := P[i,k//B] + sum[s | s <= k%B](f(i,k//B*B+s))
///
/// The condition compares l with k and a number; the value must not depend on k. What is summed
/// over other indices too is summed over these first, and many points that all results take are
/// summed once, whatever the rows. Rows of fewer than 64 points or 16 results stay as they are, and
/// in blocks are rows of 64 results and more. Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_prefix_sums(BoundProgram program, const PrefixLimits& limits);

}  // namespace ricci::codegen
