// codegen/prefix.h – conditions that bound an index by another one
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/bound.h"

namespace ricci::codegen {

/// Sums of larger shifts and bounds of ranges may leave 64 bits.
inline constexpr std::int64_t most_prefix_shift = std::int64_t{1} << 60;

/// `l <= k + shift`, or `l >= k + shift`.
struct Prefix {
    IndexId result{};   ///< k
    IndexId reduced{};  ///< l
    std::int64_t shift = 0;
    bool is_suffix = false;
};

/// What a conjunct says, if it compares one of the reduced indices with one that is not, a
/// shift of at most `most_prefix_shift` apart.
[[nodiscard]] std::optional<Prefix> as_prefix(Expr conjunct, const std::vector<IndexId>& reduced);

}  // namespace ricci::codegen
