// dsl/check.h – syntax tree to program: names, ranks, implied sums
#pragma once

#include "dsl/ast.h"
#include "dsl/program.h"

namespace ricci {

/// Resolves names, makes every reduction explicit (docs/language.md §2) and infers ranges (§4).
/// Throws: `syntax name shape range type limit`, with the place in the text.
[[nodiscard]] Program check(const ast::Program& tree);

}  // namespace ricci
