// codegen/gpu/contraction_nest.h – the loops of a contraction's tiles
#pragma once

#include "codegen/contraction.h"
#include "codegen/gpu/choose_tile.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen::gpu {

/// Adds the step that computes a contraction in tiles: a block for each tile of results (and each
/// of `chunk`, an axis whose every point sums its own tiles of reduced points; the writes say where
/// to). Reduced axes are taken in their order.
void add_contraction(Kernel kernel, Contraction contraction, const TileChoice& choice,
                     const std::optional<Axis>& chunk, PlanBuilder& builder);

}  // namespace ricci::codegen::gpu
