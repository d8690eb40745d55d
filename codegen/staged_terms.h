// codegen/staged_terms.h – terms of points that are written one after the other, computed before
//
//     for i in order:  H[J[i]] += exp(x[i])
//
// No lanes write such points, but lanes compute what is dear of several of them:
//
//     vector l in 0..8:  term[l] = exp(x[i0+l])
//     unroll u in 0..8:  H[J[i0+u]] sum= term[u]
#pragma once

#include <cstdint>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Which terms of a kernel's writes are staged.
struct Staging {
    bool values = false;      ///< those of dear values, beside those of dear places
    bool all_places = false;  ///< places that are not dear, too: they are read more than once
};

/// Computes terms that move along the axis at `count` points, from `start` on: they must exist. The
/// kernel's writes become ones of what is staged, at the axis's variable.
[[nodiscard]] Body stage_terms(Kernel& kernel, VarId axis, VarId start, std::int64_t count,
                               const Staging& staging);

}  // namespace ricci::codegen
