// codegen/gpu/lower.cpp – the choice of a strategy on a GPU
#include "codegen/gpu/lower.h"

namespace ricci::codegen::gpu {

void lower(Kernel kernel, PlanBuilder& builder, Splitting /*splitting*/) {
    merge_axes(kernel);
    lower_pointwise(std::move(kernel), builder);
}

}  // namespace ricci::codegen::gpu
