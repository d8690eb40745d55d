// codegen/few_points.h – sums of a handful of points, written out
#pragma once

#include <optional>

#include "codegen/equation_maker.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// More terms are better left to a loop.
inline constexpr std::int64_t few_points = 4;
/// Which bands are written out. Whole turns of their step, and what these leave over, are kernels
/// of their own.
struct BandRules {
    double least_elements = 1 << 15;  ///< of a result
    /// Nothing may be left over: targets that do not mask stores are slow at it.
    bool are_whole_turns = false;
};
/// The same of polynomials, whose terms raise something to an index: `c[j]*x[i]^j`.
inline constexpr std::int64_t few_powers = 16;

/// The program with sums that have few points for each element, as the gradients of slices and of
/// borders have them,
///
///     for u:  dx[u] := sum[t in 0:32 | u == t+1](dy[t])
///
/// written as their terms, each where its condition holds:
///
///     for u:  dx[u] := u-1 >= 0 && u-1 < 32 ? dy[clamp(u-1, 0, 31)] : 0
///
/// Equations are solved for an index, best one with the coefficient 1 or -1, else by division:
/// `t == 2*j+1` is j = t//2 where t%2 is 1; what the conditions say of an index narrows
/// its range, and what is left is taken value by value. In large results a band, as the gradient of
/// a maximum over 3 elements with a step of 2 has it, is few values beside a quotient:
///
///     for t:  dx[t] := sum[y | 0 <= t-2*y < 3](3*t-6*y == p[y] ? dy[y] : 0)
///
/// is of y = t//2 and, where t%2 is 0, of t//2 - 1. Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_few_points(BoundProgram program,
                                           std::int64_t most_points = few_points,
                                           const BandRules& bands = {});

/// More of an inner sum are better off as a product of rows and columns.
inline constexpr std::int64_t passed_points = 8;

/// The program with unconditional sums of few points, whose elements a reduction reads once each,
/// written as their terms,
///
///     for i, j:  t[i,j] := sum[d in 0:3]((x[i,d] - z[j,d])^2)
///     for i:     y[i] := sum[j](exp(-t[i,j])*b[j])
///
/// so that nothing of the size of t is stored: it is larger than all that it is made of.
/// So are sums of up to `few_points` that are parts of pairs, as those of complex results: both are
/// stored in one pass.
[[nodiscard]] BoundProgram with_passed_points(BoundProgram program,
                                              std::int64_t most_points = passed_points);

/// Whether the equation's sum can be written out, however many points it has: data decides none of
/// its places, and nothing is divided by what may be 0.
[[nodiscard]] bool can_be_written_out(const BoundProgram& program, const BoundEquation& equation);
/// Such an equation without its sum, which may have no index left; nothing where there are many
/// points.
[[nodiscard]] std::optional<BoundEquation> written_out(EquationMaker& make,
                                                       const BoundEquation& equation,
                                                       std::int64_t most_points = few_points,
                                                       const BandRules& bands = {});

}  // namespace ricci::codegen
