// codegen/reads_inside.h – terms at more points than they were written for
#pragma once

#include <vector>

#include "dsl/bound.h"

namespace ricci::codegen {

/// Whether all that a term reads is proved to be inside its array wherever the indices lie in their
/// ranges and the condition (may be empty) holds.
[[nodiscard]] bool reads_inside(const BoundProgram& program, const std::vector<IndexId>& domain,
                                Expr condition, Expr term);
/// The term with every place brought inside its array, for points where its value does not matter.
/// No array may be empty.
[[nodiscard]] Expr brought_inside(const BoundProgram& program, const std::vector<IndexId>& domain,
                                  Expr term);
/// Whether the term can be evaluated at every point once its places are inside: data decides no
/// place, and nothing is divided by what may be 0.
[[nodiscard]] bool is_harmless(Expr term);
/// Whether no array that the term reads is empty.
[[nodiscard]] bool reads_nothing_empty(const BoundProgram& program, Expr term);

}  // namespace ricci::codegen
