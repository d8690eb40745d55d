// codegen/lane_span.h – rows of which only a part need be computed
//
// Of the rows of a triangle, `E[i,j] := j <= i ? exp(S[i,j]) : 0` or one that later kernels read
// where j <= i alone, vectors beyond the diagonal are not computed: they get the other branch, or
// 0, so that what a kernel writes never depends on what was in memory before.
#pragma once

#include <functional>
#include <optional>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Where along the lanes' axis points are computed: from `lower` on, below `upper`, forms of the
/// other axes.
struct LaneSpan {
    std::optional<AffineForm> lower;
    std::optional<AffineForm> upper;
    Store otherwise;  ///< what the others get
};

/// Whether a kernel writes rows that are long and dear enough to be computed in part.
[[nodiscard]] bool may_have_spans(const Kernel& kernel);

/// The span of such a kernel in turns of `width`; nothing where all of each row is computed.
[[nodiscard]] std::optional<LaneSpan> lane_span(const Kernel& kernel, const Axis& lane,
                                                std::int64_t width);

/// Turns of `width` points from `lower` (a multiple of it) to `upper`: those that meet the span by
/// `computed`, the others by `filled`; each once.
[[nodiscard]] Body turns_in_span(Kernel& kernel, const LaneSpan& span, const std::string& name,
                                 const LoopBound& lower, const LoopBound& upper, std::int64_t width,
                                 const std::function<Body(const AffineForm& start)>& computed,
                                 const std::function<Body(const AffineForm& start)>& filled);

}  // namespace ricci::codegen
