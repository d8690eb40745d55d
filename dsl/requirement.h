// dsl/requirement.h – the checks that range inference left to binding
#pragma once

#include <functional>

#include "dsl/bound.h"
#include "dsl/evaluate_size.h"

namespace ricci {

/// Checks every requirement of the program with the sizes at hand.
/// Throws: what the requirement says, with the numbers filled in.
void check_requirements(const Program& program, SizeEvaluator& sizes,
                        const std::function<BoundIndex(IndexId)>& range_of);

}  // namespace ricci
