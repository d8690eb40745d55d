// codegen/gpu/tiled_contraction.h – a kernel as tiles of rows and columns: what lower_contraction
// finds, weighs and lowers
#pragma once

#include <optional>

#include "codegen/contraction.h"
#include "codegen/gpu/choose_tile.h"
#include "codegen/gpu/lower.h"

namespace ricci::codegen::gpu {

/// A contraction with axes in the order that tiles take them.
struct TiledContraction {
    Kernel kernel;
    Contraction contraction;
};

/// Nothing when the kernel is no contraction, or when an operand could leave its array where the
/// conditions of the other side do not hold.
[[nodiscard]] std::optional<TiledContraction> find_tiled_contraction(const Kernel& kernel);

/// What the estimate of tiles needs to know.
[[nodiscard]] TileProblem describe(const TiledContraction& tiled, const Target& target,
                                   Splitting splitting);

/// Evaluates operands once, into temporaries laid out as tiles read them, where staging them again
/// and again as they are costs more. Adds the steps that do so.
void pack_operands(TiledContraction& tiled, const TileChoice& choice, PlanBuilder& builder);

/// Adds the steps for a choice of tile, whether it is the best one or not.
void lower_tiled_contraction(TiledContraction tiled, const TileChoice& choice,
                             PlanBuilder& builder);

}  // namespace ricci::codegen::gpu
