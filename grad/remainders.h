// grad/remainders.h – subscripts with `//` and `%` as affine ones, of an index in two digits
#pragma once

#include "dsl/program.h"
#include "grad/gather.h"

namespace ricci::grad {

/// The relation with an index i of a quotient `(i+c) // N` or remainder `(i+c) % N` of its
/// subscripts as `N*m + r - c`, with new indices m and r in 0:N: then the quotient is m, and the
/// remainder r. So are inner ones, and those of sums with such an index. Those of data, and of sums
/// whose other terms would make m run over more than there is, stay as they are. New indices are
/// added to the program.
[[nodiscard]] Relation without_remainders(Program& program, const Relation& relation);

}  // namespace ricci::grad
