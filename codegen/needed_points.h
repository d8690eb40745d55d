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

/// Forms that are at least 0 wherever the condition holds.
[[nodiscard]] std::vector<AffineForm> necessary_forms(const Value& condition);

/// Without forms of numbers beyond 2^31: tiles look at points beyond the last row and column, where
/// these might leave 64 bits.
[[nodiscard]] std::vector<AffineForm> without_large(std::vector<AffineForm> forms);

}  // namespace ricci::codegen
