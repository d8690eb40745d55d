// codegen/gather_update.h – updates at affine places as sums over what each element is given
#pragma once

#include <optional>

#include "codegen/equation_maker.h"

namespace ricci::codegen {

/// An update whose points may meet, such as a transposed convolution,
///
///     for i, k:  O[2*i+k] += x[i]*w[k]
///
/// as one of every element by itself, so that elements are computed side by side:
///
///     for t:  O[t] += sum[i | 0 <= t-2*i < size(w)](x[i]*w[t-2*i])
///
/// Nothing unless it is a `+=`, not of half precision, whose subscripts are affine, or affine and
/// padded, and can be solved: each has an index of its own with the coefficient 1 or -1. Nothing of
/// what updates intervals (codegen/keyed_intervals.h). The order in which an element is given its
/// values may differ. `sum`, if any, defines a temporary that nothing but this update reads:
/// elements are given what it sums. Makes new terms in the program's context.
[[nodiscard]] std::optional<BoundEquation> as_gather(EquationMaker& make,
                                                     const BoundEquation& equation,
                                                     const BoundEquation* sum = nullptr);

}  // namespace ricci::codegen
