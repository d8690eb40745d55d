// grad/pullback.h – symbolic reverse mode over one term
#pragma once

#include <vector>

#include "dsl/program.h"
#include "grad/rules.h"

namespace ricci::grad {

/// Which tensors depend on an argument whose gradient is wanted, by position.
using Active = std::vector<bool>;

/// Whether the value of the term changes, to first order, with an active tensor.
[[nodiscard]] bool depends_on(Expr term, const Active& active);

/// The cotangent of one read of an active tensor.
struct ReadCotangent {
    Expr access;
    Cotangent d;
};

/// What is differentiated, and where it stands for errors.
struct Differentiated {
    Expr term;   ///< free of Reduce
    Expr saved;  ///< a read that holds the term's value, or empty
    Span span;
    bool is_complex = false;  ///< see Step
};

/// The cotangents of the distinct reads of active tensors in the term, in order of first creation.
/// Linear in the size of the term.
/// Throws: `gradient` for an operation whose derivative is unknown.
[[nodiscard]] std::vector<ReadCotangent> pull_back(const Program& program,
                                                   const Differentiated& what,
                                                   const Cotangent& upstream, const Active& active);

}  // namespace ricci::grad
