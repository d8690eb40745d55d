// grad/remainders.h – subscripts with `%` as affine ones, of an index more
#pragma once

#include "dsl/program.h"
#include "grad/gather.h"

namespace ricci::grad {

/// The relation with the remainders `e % N` of a subscript as `e - N*m`, where m is an index more
/// and `N*m <= e < N*m + N` a condition, wherever the subscript can be solved for an index of e by
/// that. `e // N` of other subscripts is m then. Remainders of data, and of what is no sum of
/// multiples of indices and their quotients, stay as they are. New indices are added to the
/// program.
[[nodiscard]] Relation without_remainders(Program& program, const Relation& relation);

}  // namespace ricci::grad
