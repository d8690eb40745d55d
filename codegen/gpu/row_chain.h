// codegen/gpu/row_chain.h – kernels that pass over the same rows, one after the other
//
// A softmax is three kernels: the maximum of each row, the sum of its exponentials, the quotients.
// Each reads the row again, and what it reads of the others belongs to the same row. Such kernels
// are a chain: one kernel in which the threads of a row keep its elements in registers and its
// results as names. Nothing here knows a softmax: any consecutive kernels are a chain
//   - whose rows are the free axes of reductions, matched through the results that are read;
//   - whose other axes have the same extents: what is reduced, and what a pass over memory adds;
//   - in which a result of a row is read at that row alone;
//   - that write no other buffer which one of them reads, and none twice;
//   - of which two read the same elements, and none is rows against columns.
#pragma once

#include <optional>
#include <vector>

#include "codegen/plan_builder.h"

namespace ricci::codegen::gpu {

/// A reduction of each row, or a pass over its elements.
struct RowStage {
    std::optional<Reducer> reducer;  ///< none: a pass over the elements
    Value body = nullptr;
    AffineForm arg_index = {};
    std::vector<Store> writes;
};

struct RowChain {
    Kernel kernel;  ///< `free` are the rows, `reduced` the axes along them; no body yet
    std::vector<RowStage> stages;
    std::vector<BufferId> results;  ///< of rows, read by later stages
    std::vector<BufferId> unread;   ///< of these: read nowhere else, need not be stored
};

/// The longest chain that begins with kernel `first`, of two kernels at least.
[[nodiscard]] std::optional<RowChain> find_row_chain(const std::vector<Kernel>& kernels,
                                                     std::size_t first, const Plan& plan);

}  // namespace ricci::codegen::gpu
