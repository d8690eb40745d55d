// grad/remainders.h – subscripts with `%` as affine ones, of an index in two digits
#pragma once

#include "dsl/program.h"
#include "grad/gather.h"

namespace ricci::grad {

/// The relation with an index i of a remainder `(i+c) % N` of its subscripts as `N*m + r - c`, with
/// new indices m and r in 0:N: then the remainder is r, and `(i+c) // N` beside it is m. So are
/// inner remainders, and those of sums with such an index. Remainders of data, and of sums whose
/// other terms would make m run over more than there is, stay as they are. New indices are added to
/// the program.
[[nodiscard]] Relation without_remainders(Program& program, const Relation& relation);

}  // namespace ricci::grad
