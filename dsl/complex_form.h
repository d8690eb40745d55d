// dsl/complex_form.h – functions of complex terms, written out in real and imaginary parts
#pragma once

#include <vector>

#include "dsl/expr.h"

namespace ricci {

/// A complex term as two real ones of one type; without `im` it is real.
struct Parts {
    Expr re;
    Expr im;
};

/// Whether the operation has a form for complex operands.
[[nodiscard]] bool has_complex_form(Op op) noexcept;

/// `op(args)` of parts of type `real`. Comparisons and tests, which give a bool, and functions that
/// give a real number have no `im`.
[[nodiscard]] Parts complex_form(Context& context, Op op, const std::vector<Parts>& args,
                                 DType real);

}  // namespace ricci
