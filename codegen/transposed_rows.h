// codegen/transposed_rows.h – operands copied so that they are contiguous along what is summed
#pragma once

#include <optional>
#include <vector>

#include "codegen/lower.h"

namespace ricci::codegen {

/// A reduction whose rows are contiguous in copies of some operands.
struct RowsOfCopies {
    Kernel kernel;
    std::vector<Kernel> copies;
    LanePlan lanes;
    double cycles = 0;  ///< of all of them
};

/// The kernel with transposed copies of those operands that are not contiguous along its reduced
/// axis, where then results that are summed side by side share loads. Adds the copies' buffers.
/// Nothing where `limit` cycles do as well.
[[nodiscard]] std::optional<RowsOfCopies> with_contiguous_rows(const Kernel& kernel, double limit,
                                                               PlanBuilder& builder);

}  // namespace ricci::codegen
