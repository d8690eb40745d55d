// codegen/copied_columns.h – columns of a product copied slice by slice, as its result stands
#pragma once

#include <optional>

#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// A contraction whose columns are read from copies that the caches hold. Both kernels have the
/// same slices.
struct CopiedColumns {
    Kernel copy;
    Kernel product;
};

/// The kernel with a copy of its columns in the order of the result's axes, made for a few of their
/// outer points at a time: panels of all columns would be written to memory and read again, and
/// those of a short axis would leave lanes idle. Adds the copy's buffer. Nothing where the columns
/// are small or stand in that order, or where `limit` cycles do as well.
[[nodiscard]] std::optional<CopiedColumns> with_copied_columns(const Kernel& kernel, double limit,
                                                               PlanBuilder& builder);

}  // namespace ricci::codegen
