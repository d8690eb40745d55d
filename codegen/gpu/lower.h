// codegen/gpu/lower.h – the strategies on a GPU: kernels as blocks of threads
//
// The same kernels and strategies as codegen/lower.h; only the loops differ. Results do not depend
// on the order in which threads or blocks run.
#pragma once

#include "codegen/plan_builder.h"

namespace ricci::codegen::gpu {

/// Whether a long reduction may become two levels: what came from a split is not split again.
enum class Splitting : std::uint8_t { allowed, done };

/// Chooses the strategy for a kernel and lowers it; marks what a library can do.
void lower(Kernel kernel, PlanBuilder& builder, Splitting splitting = Splitting::allowed);

/// One pass over memory: vector accesses along the contiguous axis, grid-stride, squares through
/// shared memory where the sides of an access disagree.
void lower_pointwise(Kernel kernel, PlanBuilder& builder);

/// A warp or a block for each result: threads over the reduced points, folded at the end.
void lower_row_reduction(Kernel kernel, PlanBuilder& builder);

/// Threads over the contiguous free axis, the rows of a block over parts of the reduction.
void lower_strided_reduction(Kernel kernel, PlanBuilder& builder);

/// Operands of tiles of rows and columns in shared memory, accumulators in registers. False, and
/// nothing done, when the kernel is no contraction, or too small or thin to gain by it.
[[nodiscard]] bool lower_contraction(const Kernel& kernel, PlanBuilder& builder,
                                     Splitting splitting);

/// Chunks of the longest reduced axis into a temporary, then their total, when the kernel has fewer
/// than `blocks` blocks of work side by side. False, and nothing done, when it is not worth it.
[[nodiscard]] bool lower_in_two_levels(const Kernel& kernel, std::int64_t blocks,
                                       PlanBuilder& builder);

/// The library call that does the work of a kernel, when it is a matrix product or a convolution.
[[nodiscard]] std::optional<LibraryCall> recognise(const Kernel& kernel);

}  // namespace ricci::codegen::gpu
