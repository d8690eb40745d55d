// codegen/choose_contraction.h – which contraction a kernel is to a CPU, and in which tiles it runs
#pragma once

#include <optional>
#include <vector>

#include "codegen/contraction_choice.h"

namespace ricci::codegen {

/// Nothing when the kernel is no contraction, or one that is too small or too large for panels.
///
/// Conditions may move the bounds of the reduced axes along every free axis; what they say of the
/// tiled rows must be inequalities, of single lanes inequalities over columns that are read where
/// they stand. The lanes run along `lane`, if it is given.
[[nodiscard]] std::optional<ContractionChoice> choose_contraction(
    const Kernel& kernel, const Target& target, const std::optional<Axis>& lane = std::nullopt);

/// The choices that give each element of the result by the same operations in the same order as
/// `usual` does, which comes first: other tiles, other places to read from, and lanes along `lane`.
[[nodiscard]] std::vector<ContractionChoice> equal_choices(const Kernel& kernel,
                                                           const ContractionChoice& usual,
                                                           const Target& target,
                                                           const std::optional<Axis>& lane);

}  // namespace ricci::codegen
