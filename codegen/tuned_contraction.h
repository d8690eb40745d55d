// codegen/tuned_contraction.h – the contraction that measurements chose among those of equal bits
#pragma once

#include "codegen/contraction_choice.h"
#include "codegen/lower.h"
#include "codegen/schedule.h"
#include "codegen/tuning.h"

namespace ricci::codegen {

struct TunedContraction {
    ContractionChoice choice;
    Choice record;        ///< what could be measured, and what is taken
    Directive said = {};  ///< how it came about
};

/// What the builder's tunings know to be the fastest way to run the kernel; `usual` where they know
/// none that there is. The lanes may also run where those of the plan `otherwise` do.
[[nodiscard]] TunedContraction tuned_contraction(const Kernel& kernel,
                                                 const ContractionChoice& usual,
                                                 const LanePlan& otherwise,
                                                 const PlanBuilder& builder);

}  // namespace ricci::codegen
