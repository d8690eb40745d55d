// codegen/prefix.h – conditions that bound an index by another one
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/bound.h"

namespace ricci::codegen {

/// `l <= k + shift`, or `l >= k + shift`.
struct Prefix {
    IndexId result{};   ///< k
    IndexId reduced{};  ///< l
    std::int64_t shift = 0;
    bool is_suffix = false;
};

/// What a conjunct says, if it compares one of the reduced indices with one that is not.
[[nodiscard]] std::optional<Prefix> as_prefix(Expr conjunct, const std::vector<IndexId>& reduced);

}  // namespace ricci::codegen
