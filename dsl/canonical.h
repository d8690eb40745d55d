// dsl/canonical.h – one reduction an equation, equal reductions shared
#pragma once

#include "dsl/program.h"

namespace ricci {

/// The canonical form (see dsl/program.h): `mean`, `count`, `any`, `all`, `logsumexp`, `norm`
/// become sums, products and maxima; nested reductions become temporaries `t1, t2, …` over the
/// indices they depend on, equal up to renaming made once; `-=` becomes `+=` of the negated value;
/// reductions over indices that the body lacks stay as they are. Idempotent.
[[nodiscard]] Program canonicalise(Program program);

}  // namespace ricci
