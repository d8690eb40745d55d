// dsl/work.h – how much a bound program has to do, whatever way it is computed
#pragma once

#include "dsl/bound.h"

namespace ricci {

/// Counted from the equations, not from the code: the least that a machine has to do.
struct Work {
    double operations = 0;  ///< scalar operations; a multiplication and an addition are two
    double bytes = 0;       ///< arguments once in, outputs once out
};

/// Operations on floating values at every point of every equation, a function counting as one, a
/// choice as none, and one to combine each value of a reduction. Conditions are taken to hold
/// everywhere.
[[nodiscard]] Work work_of(const BoundProgram& program);

}  // namespace ricci
