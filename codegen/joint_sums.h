// codegen/joint_sums.h – reductions over the same points that read the same arrays
//
// The gradients of a norm by its scale and its shift are sums over all rows, and so are the two
// sums that its input's gradient needs: each would read the cotangent from memory. Nothing here
// knows a norm: any reductions are joint
//   - whose free and reduced axes have the same extents, in order;
//   - of which each reads at every point an element of a large array that the first one reads, or
//     one beside it, as real and imaginary parts are;
//   - that know no conditions, write nothing twice, and are no rows against columns;
//   - that follow each other, or may, and touch nothing that another one writes.
// They are lowered one by one, with the same estimate of the cost of all, and their loops merged.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/plan.h"

namespace ricci::codegen {

/// Kernel `first` and those behind it that are joint with it, ascending; `first` alone, if none.
[[nodiscard]] std::vector<std::size_t> find_joint_sums(const std::vector<Kernel>& kernels,
                                                       std::size_t first, const Plan& plan,
                                                       const Target& target);

}  // namespace ricci::codegen
