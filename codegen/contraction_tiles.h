// codegen/contraction_tiles.h – reductions of two operands, tiled in registers
#pragma once

#include <vector>

#include "codegen/contraction_choice.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// Lowers a contraction as it was chosen, the packing of its operands first. The schedule begins
/// with the directives.
void lower_tiles(const Kernel& kernel, ContractionChoice choice, PlanBuilder& builder,
                 std::vector<Directive> directives);

}  // namespace ricci::codegen
