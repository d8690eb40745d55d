// dsl/safe_condition.h – conditions that may be evaluated where parts of them do not hold
#pragma once

#include <vector>

#include "dsl/bound.h"

namespace ricci {

/// The typed condition, so that no part of it leaves an array at any point of the domain: where
/// only those conjuncts that read nothing keep a place inside, another place is read where they do
/// not hold. Its value stays.
[[nodiscard]] Expr safe_condition(const BoundProgram& program, const std::vector<IndexId>& domain,
                                  Expr condition);

}  // namespace ricci
