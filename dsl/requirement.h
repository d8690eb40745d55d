// dsl/requirement.h – the checks that range inference left to binding
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "dsl/bound.h"
#include "dsl/evaluate_size.h"

namespace ricci {

/// Checks every requirement of the program with the sizes at hand, and the scalars that a bound
/// program depends on. Gives those that other data decides (of the kind `has_points`), with the
/// term in their message.
/// Throws: what the requirement says, with the numbers filled in.
[[nodiscard]] std::vector<Requirement> check_requirements(
    const Program& program, SizeEvaluator& sizes, const std::set<TensorId>& known_scalars,
    const std::function<BoundIndex(IndexId)>& range_of);

}  // namespace ricci
