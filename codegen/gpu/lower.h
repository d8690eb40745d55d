// codegen/gpu/lower.h – the strategies on a GPU: kernels as blocks of threads
//
// The same kernels and strategies as codegen/lower.h; only the loops differ. Results do not depend
// on the order in which threads or blocks run.
#pragma once

#include <optional>

#include "codegen/gpu/coalescing.h"
#include "codegen/plan_builder.h"
#include "codegen/row_chain.h"

namespace ricci::codegen::gpu {

/// Whether a long reduction may become two levels: what came from a split is not split again.
enum class Splitting : std::uint8_t { allowed, done };

/// Chooses the strategy for a kernel and lowers it; marks what a library can do.
void lower(Kernel kernel, PlanBuilder& builder, Splitting splitting = Splitting::allowed);

/// One pass over memory: vector accesses along the contiguous axis, several under way at once.
void lower_pointwise(Kernel kernel, PlanBuilder& builder);

/// One pass over memory where loads and stores are contiguous along different axes: squares go
/// through shared memory. False, and nothing done, where that gains nothing.
[[nodiscard]] bool lower_transposed(const Kernel& kernel, PlanBuilder& builder);

/// Neighbouring threads over the reduced points of a result, folded at the end.
struct RowShape {
    ThreadOrder order;         ///< of the reduced axes
    std::int64_t threads = 1;  ///< that share a result: a power of two
    std::int64_t block = 256;  ///< threads of a block
    std::int64_t unroll = 1;   ///< turns of a thread side by side
    std::int64_t blocks = 0;
    double slots = 0;  ///< issue slots of a warp for 32 reduced points
};
/// How many threads share a result of so many turns, when there are so many results: enough for
/// each to have some turns, more when multiprocessors would idle.
[[nodiscard]] std::int64_t threads_of_result(std::int64_t results, std::int64_t turns,
                                             const Target& target);
[[nodiscard]] RowShape row_shape(const Kernel& kernel, const Target& target);
void lower_row_reduction(Kernel kernel, const RowShape& shape, PlanBuilder& builder);

/// Neighbouring threads over the results, rows of threads over parts of the reduction.
struct ColumnShape {
    ThreadOrder order;         ///< of the free axes
    ThreadOrder reduced;       ///< the order that the reduction is walked in; no vectors
    std::int64_t columns = 1;  ///< threads side by side: a power of two
    std::int64_t rows = 1;     ///< rows of threads: a power of two
    std::int64_t unroll = 1;   ///< turns of a thread side by side
    std::int64_t blocks = 0;
    double slots = 0;  ///< issue slots of a warp for 32 reduced points
};
[[nodiscard]] ColumnShape column_shape(const Kernel& kernel, const Target& target);
void lower_strided_reduction(Kernel kernel, const ColumnShape& shape, PlanBuilder& builder);

/// A sum that a factor carries on from point to point: a thread for each row of results.
void lower_walk(Kernel kernel, PlanBuilder& builder);

/// What may be a chain of rows.
[[nodiscard]] ChainRules chain_rules();
/// Kernels that pass over the same rows, as one. False, and nothing done, where they do better
/// apart.
[[nodiscard]] bool lower_row_chain(RowChain chain, PlanBuilder& builder);

/// Operands of tiles of rows and columns in shared memory, accumulators in registers. False, and
/// nothing done, when the kernel is no contraction, or too small or thin to gain by it.
[[nodiscard]] bool lower_contraction(const Kernel& kernel, PlanBuilder& builder,
                                     Splitting splitting);

/// Chunks of the longest reduced axis into a temporary, then their total, when the kernel is long
/// and has so few `blocks` of work side by side that multiprocessors would idle. Chunks depend on
/// extents and the target alone. False, and nothing done, when it is not worth it.
[[nodiscard]] bool wants_two_levels(const Kernel& kernel, std::int64_t blocks,
                                    const Target& target);
[[nodiscard]] bool lower_in_two_levels(const Kernel& kernel, std::int64_t blocks,
                                       PlanBuilder& builder);

/// The library call that does the work of a kernel, when it is a matrix product or a convolution.
[[nodiscard]] std::optional<LibraryCall> recognise(const Kernel& kernel);

}  // namespace ricci::codegen::gpu
