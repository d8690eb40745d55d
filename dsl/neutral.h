// dsl/neutral.h – values that a reduction or an update does not notice
#pragma once

#include "dsl/expr.h"

namespace ricci {

/// What a sum, product, maximum or minimum of nothing is, as a typed literal.
[[nodiscard]] Expr identity(Context& context, Reducer reducer, DType dtype);
/// A value that an update of an element with the operator leaves as it was, to the last bit.
[[nodiscard]] Expr neutral(Context& context, Assign op, DType dtype);

}  // namespace ricci
