// dsl/leave_out_index.h – conditions that an index of their own stands in, without it
#pragma once

#include <optional>

#include "dsl/bound.h"

namespace ricci {

/// The condition of a bound program for which some value of the index, in its range, is left:
/// `s <= t && t < 2*b` for t in 0:100 is `s <= 99 && 0 < 2*b && s < 2*b` (Fourier–Motzkin
/// elimination, which is exact where the index has the factors 1 and -1). Empty: it always holds.
/// Nothing where the index stands in anything but comparisons of affine forms, as data, or in
/// multiples. Makes new terms in the program's context.
[[nodiscard]] std::optional<Expr> leave_out_index(const BoundProgram& program, Expr condition,
                                                  IndexId index);

}  // namespace ricci
