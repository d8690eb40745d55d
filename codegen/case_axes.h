// codegen/case_axes.h – short axes of which written terms tell the places apart
#pragma once

#include "base/target.h"
#include "codegen/kernel.h"

namespace ricci::codegen {

/// Axes of more places are not written out: that many writes of a point are long code.
inline constexpr std::int64_t most_case_places = 16;

/// Writes out the axes of a kernel whose places its terms choose by, as those of the gradient of
/// what was read at constants,
///
///     for n, t, k:  dG[n,t,k] := (t == 0 ? f(n,k) : 0) + (t == 1 ? g(n,k) : 0)
///
/// as a write for each place, of the terms that are left there:
///
///     for n, k:     dG[n,0,k] := f(n,k);  dG[n,1,k] := g(n,k)
///
/// Then no term is computed where it is left out, and what the places share is computed once.
/// Reduced axes likewise: `sum[j,e](W[j]//(e == 0 ? 1 : 16) % 16 * x[2*j+e])` is the sum over j of
/// two terms. Axes of many places stay, those that conditions choose points by, and those whose
/// lanes are worth more.
void write_out_cases(Kernel& kernel, const Target& target);

}  // namespace ricci::codegen
