// dsl/domain_limits.h – how far indices may run
#pragma once

#include <cstdint>
#include <vector>

#include "dsl/bound.h"

namespace ricci {

/// Bounds of ranges lie from -2^61 to 2^61, so that arithmetic with a few of them fits into 64
/// bits.
inline constexpr std::int64_t max_bound = std::int64_t{1} << 61;
/// Points of one statement: more than any machine goes through.
inline constexpr std::int64_t max_points = std::int64_t{1} << 56;

/// Throws: `limit` when the range goes beyond `max_bound`.
void check_range(const BoundIndex& index, const SourcePtr& source);
/// Throws: `limit` when the indices have more than `max_points` points together.
void check_points(const BoundProgram& program, const std::vector<IndexId>& domain,
                  const SourcePtr& source);

/// The same of an equation as it is written. Sums and products under conditions may be walks, which
/// do not go through all pairs of results and points: of these only the results count. What is left
/// to go through is counted when it is planned.
void check_points(const BoundProgram& program, const BoundEquation& equation,
                  const SourcePtr& source);

/// The same of every equation of a program that is about to be computed, with all pairs of results
/// and points, but for walks that carry sums on.
void check_points(const BoundProgram& program);

}  // namespace ricci
