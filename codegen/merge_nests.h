// codegen/merge_nests.h – two kernels whose loops are the same as one
#pragma once

#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// Makes what `other` computes part of `step`: loops that run over the same points become one, what
/// stands in both comes one after the other. Neither may touch what the other writes. False, and
/// nothing done, where loops around others, guards or divided variables differ, where a nest has
/// other statements or is one of slices, or where the accumulators of both do not fit into
/// registers.
[[nodiscard]] bool merge(LoweredKernel& step, const LoweredKernel& other, const Target& target);

}  // namespace ricci::codegen
