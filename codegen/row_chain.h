// codegen/row_chain.h – kernels that pass over the same rows, one after the other
//
// A softmax is three kernels: the maximum of each row, the sum of its exponentials, the quotients.
// Each reads the row again, and what it reads of the others belongs to the same row. Such kernels
// are a chain: one kernel that passes over a row again and again while it is near, and whose
// results are names. Nothing here knows a softmax: any kernels are a chain
//   - whose rows are the free axes of reductions, matched through the results that are read;
//   - whose other axes have the same extents: what is reduced, and what a pass over memory adds;
//   - in which a result of a row is read at that row alone;
//   - that write no other buffer which one of them reads, and none twice; where elements may pass
//     from stage to stage, a stage reads at the same point what an earlier one gave the element;
//   - of which two read the same elements, and none is rows against columns;
//   - that follow each other, or may: what stands between two of them depends on neither.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// A reduction of each row, or a pass over its elements.
struct RowStage {
    std::optional<Reducer> reducer;  ///< none: a pass over the elements
    Value body = nullptr;
    AffineForm arg_index = {};
    std::vector<Store> writes;
};

struct RowChain {
    Kernel kernel;  ///< `free` are the rows, `reduced` the axes along them; no body yet
    std::vector<RowStage> stages;      ///< equal values of all of them are one node
    std::vector<std::size_t> members;  ///< the kernels that it stands for, ascending
    std::vector<BufferId> results;     ///< of rows, read by later stages
    std::vector<BufferId> unread;      ///< of these: read nowhere else, need not be stored

    [[nodiscard]] bool is_result(BufferId buffer) const {
        return std::ranges::find(results, buffer) != results.end();
    }
    [[nodiscard]] bool is_unread(BufferId buffer) const {
        return std::ranges::find(unread, buffer) != unread.end();
    }
};

/// What a device asks of chains.
struct ChainRules {
    /// Points of rows in which a stage may read elements that an earlier one writes: as the value
    /// that they were given.
    std::int64_t longest_passing = 0;
    /// Whether two stages must read the same elements.
    bool needs_gain = true;
    /// Whether a kernel may be a stage whose rows are these of its axes; none: any may.
    std::function<bool(const Kernel& kernel, const std::vector<Axis>& rows)> fits = nullptr;
};

/// The longest chain that begins with kernel `first`, of two kernels at least. Kernels still to be
/// made read the buffers `read_later` of the plan.
[[nodiscard]] std::optional<RowChain> find_row_chain(const std::vector<Kernel>& kernels,
                                                     std::size_t first, const Plan& plan,
                                                     const ChainRules& rules,
                                                     const std::set<std::size_t>& read_later);

}  // namespace ricci::codegen
