// codegen/lower.cpp – the choice of a strategy
#include "codegen/lower.h"

namespace ricci::codegen {

void lower(Kernel kernel, PlanBuilder& builder) {
    merge_axes(kernel);
    const LanePlan lanes = choose_lanes(kernel, builder.target());
    if (!kernel.body) {
        lower_pointwise(std::move(kernel), lanes, builder);
        return;
    }
    if (auto split = split_reduction(kernel, lanes.cycles, builder)) {
        lower(std::move(split->partial), builder);
        lower(std::move(split->total), builder);
        return;
    }
    if (lanes.is_reduced_axis)
        lower_row_reduction(std::move(kernel), lanes, builder);
    else
        lower_strided_reduction(std::move(kernel), lanes, builder);
}

}  // namespace ricci::codegen
