// grad/pullback.h – symbolic reverse mode over one term
#pragma once

#include <vector>

#include "dsl/program.h"
#include "grad/active.h"
#include "grad/rules.h"

namespace ricci::grad {

/// The cotangent of one read of an active tensor.
struct ReadCotangent {
    Expr access;
    Cotangent d;
};

/// The cotangents of the distinct reads of active tensors in the term, in order of first creation.
/// Linear in the size of the term.
/// Throws: `gradient` for an operation whose derivative is unknown.
[[nodiscard]] std::vector<ReadCotangent> pull_back(const Program& program,
                                                   const Differentiated& what,
                                                   const Cotangent& upstream, const Active& active);

}  // namespace ricci::grad
