// codegen/copied_results.h – results of a product that stand apart, through an array of their own
//
// The kernel gradient `dW[o,c,r,s] := dY[n,o,y,x]*X[n,c,y+r,x+s]` has its lanes along c, of which
// neighbours stand nine elements apart in dW: each result of a 3x3 kernel would be a store of its
// own, to lines that the other taps write again.
#pragma once

#include <optional>

#include "codegen/contraction_choice.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// A contraction whose results are contiguous along its lanes, and what puts them in their places.
struct CopiedResults {
    Kernel product;
    Kernel copy;
};

/// What the choice takes, roughly: with its results in two steps where they are copied.
[[nodiscard]] double cycles_with_copied_results(const Kernel& kernel,
                                                const ContractionChoice& choice,
                                                const Target& target);
/// Both kernels, where results stand apart along the lanes of the choice and are so many that
/// writing them in two steps takes less time. Adds the buffer between them.
[[nodiscard]] std::optional<CopiedResults> with_copied_results(const Kernel& kernel,
                                                               const ContractionChoice& choice,
                                                               PlanBuilder& builder);

}  // namespace ricci::codegen
