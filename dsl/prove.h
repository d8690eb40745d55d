// dsl/prove.h – proofs over the domain of a bound equation: accesses in bounds, targets injective
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/bound.h"

namespace ricci {

/// The values a subscript takes over a domain, as far as they are proved.
struct SubscriptBounds {
    bool in_bounds = false;
    /// Made of indices, numbers, `//` and `%` by positive numbers, and within 64 bits at every
    /// step.
    bool is_affine = true;
    std::int64_t low = 0;  ///< least and greatest value over the box
    std::int64_t high = 0;
};

/// Whether `0 <= subscript < extent` wherever the indices lie in their ranges and the affine
/// conjuncts of `condition` (may be empty) hold. Vacuously true when a range is empty.
[[nodiscard]] SubscriptBounds prove_in_bounds(const std::vector<BoundIndex>& indices,
                                              const std::vector<IndexId>& domain, Expr condition,
                                              Expr subscript, std::int64_t extent);

/// Inclusive.
struct IntegerRange {
    std::int64_t low = 0;
    std::int64_t high = 0;
};
/// The values of a typed integer term over the ranges of its indices, if every part of it fits into
/// 64 bits while elements of arrays are of at most `data_limit` in magnitude (and of their type).
[[nodiscard]] std::optional<IntegerRange> integer_range(const std::vector<BoundIndex>& indices,
                                                        Expr e,
                                                        std::int64_t data_limit = INT64_MAX);

/// Whether different points of the box have different subscripts, proved.
[[nodiscard]] bool prove_injective(const std::vector<BoundIndex>& indices,
                                   const std::vector<IndexId>& domain, const std::vector<Expr>& at);

}  // namespace ricci
