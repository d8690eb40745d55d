// codegen/slices.h – kernels that are run one after the other for a slice of their points
//
// Attention is a product, a softmax and another product; what passes between them is as large as
// the square of the sequence. But a few rows of it need only the same few rows of what is before:
// all kernels can be run for a block of rows before the next block begins, and what passes between
// them is a block in a cache, which every thread has of its own. Nothing here knows attention: any
// kernels are sliced
//   - that have free axes in common, matched by the steps with which these move what one kernel
//     writes and another one touches;
//   - of which no slice touches what another slice writes: the elements of a slice lie between
//     those of the slices beside it;
//   - of which two are rows against columns, or one that passes on much more than all else that is
//     touched, and which pass on more than caches hold, in slices that are enough to keep threads
//     busy; or, along the axes with the longest steps, some that write elements of the same cache
//     lines of an array larger than caches, as residue classes of rows do: the lines of a slice
//     stay in a cache until all have written theirs. Products among these only with AVX-512, and
//     along axes that move all of their operands but what caches hold;
//   - that follow each other, or may: what stands between two of them depends on neither.
// Slices are along axes that every operand of a product has, and along blocks of one further axis.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "codegen/plan_builder.h"

namespace ricci::codegen {

struct SlicedKernels {
    std::vector<std::size_t> members;        ///< the kernels that are sliced, ascending
    std::vector<std::vector<Kernel>> loops;  ///< all whole slices; then, if any, the smaller ones
};

/// The kernels to be sliced together with kernel `first`, if there are any. Adds buffers of slices
/// to the plan. Kernels still to be made read the buffers `read_later`; kernels that were lowered
/// before have no writes.
[[nodiscard]] std::optional<SlicedKernels> find_slices(const std::vector<Kernel>& kernels,
                                                       std::size_t first, PlanBuilder& builder,
                                                       const std::set<std::size_t>& read_later);

}  // namespace ricci::codegen
