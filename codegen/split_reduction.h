// codegen/split_reduction.h – a reduction as partial results of chunks, and their total
#pragma once

#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// The two levels of a reduction, as kernels.
struct SplitReduction {
    Kernel partial;  ///< the chunk's number is its outermost free axis, or its innermost one
    Kernel total;
};

/// Where the number of the chunk stands among the free axes, and in the temporaries.
enum class ChunkAxis : std::uint8_t { outermost, innermost };

/// Cuts the reduced axis of that number into chunks of `length`; what chunks give goes through
/// temporaries (argmax and argmin: values and their places).
[[nodiscard]] SplitReduction split_reduction(const Kernel& kernel, std::size_t cut,
                                             std::int64_t length, PlanBuilder& builder,
                                             ChunkAxis place = ChunkAxis::outermost);

/// The number of the longest axis.
[[nodiscard]] std::size_t longest(const std::vector<Axis>& axes);

/// A chunk length that leaves at most `chunks` chunks; a multiple of 64 where it can be, and a
/// divisor of the extent where one is near.
[[nodiscard]] std::int64_t chunk_length(std::int64_t extent, std::int64_t chunks);

}  // namespace ricci::codegen
