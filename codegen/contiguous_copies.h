// codegen/contiguous_copies.h – operands copied so that they are contiguous along the lanes' axis
//
// `C[b,z] := A[b,k,z]*B[z,k]` runs in lanes along z, along which A stands, if B, of which each
// element serves all b, is copied to `B'[k,z]`.
#pragma once

#include <optional>
#include <vector>

#include "codegen/lower.h"

namespace ricci::codegen {

/// A reduction that is contiguous along its lanes in copies of some operands.
struct CopiedReduction {
    Kernel kernel;
    std::vector<Kernel> copies;
    LanePlan lanes;
    double cycles = 0;  ///< of all of them
};

/// The kernel with transposed copies of those operands that are not contiguous along its reduced
/// axis, where then results that are summed side by side share loads. Adds the copies' buffers.
/// Nothing where `limit` cycles do as well.
[[nodiscard]] std::optional<CopiedReduction> with_contiguous_rows(const Kernel& kernel,
                                                                  double limit,
                                                                  PlanBuilder& builder);

/// The kernel with transposed copies of those operands that move with some free axis and are not
/// contiguous along it, while another one or a result is, and serve several results an element.
/// Adds the copies' buffers. Nothing where `limit` cycles do as well.
[[nodiscard]] std::optional<CopiedReduction> with_contiguous_lanes(const Kernel& kernel,
                                                                   double limit,
                                                                   PlanBuilder& builder);

}  // namespace ricci::codegen
