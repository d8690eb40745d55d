// codegen/needed_points.h – results of kernels that nothing reads
//
// Where a masked softmax takes the scores below the diagonal alone, the product that makes them
// need not sum those above. What every reader of a temporary asks of its points is a condition of
// the kernel that writes it, and passes on to what that kernel reads.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Sets `Kernel::needed_where` of kernels in the order in which they run; kernels still to be made
/// read the buffers `read_later` of the plan.
void find_needed_points(std::vector<Kernel>& kernels, const Plan& plan,
                        const std::set<std::size_t>& read_later);

}  // namespace ricci::codegen
