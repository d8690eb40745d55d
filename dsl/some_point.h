// dsl/some_point.h – whether a condition of indices leaves something to reduce
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/bound.h"

namespace ricci {

/// Whether the term is a condition of indices, sizes and scalars alone: its points can be counted
/// before a program runs.
[[nodiscard]] bool reads_no_array(Expr condition);

/// A point of the indices `around` for which no values of the condition's other indices satisfy it,
/// as a text: "`i` = 0", empty without such indices. Nothing when there is none, or when that takes
/// more than `work` operations to say, of which what is done is taken off. Sizes and scalars of the
/// condition are numbers.
[[nodiscard]] std::optional<std::string> point_without(
    const Program& program, Expr condition, const std::vector<IndexId>& around,
    const std::function<BoundIndex(IndexId)>& range_of, std::int64_t& work);

}  // namespace ricci
