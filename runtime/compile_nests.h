// runtime/compile_nests.h – the machine code of a plan's kernels
#pragma once

#include <span>

#include "base/target.h"
#include "codegen/image.h"
#include "codegen/nest.h"

namespace ricci::runtime {

/// Compiles nests for the CPU, side by side on the threads that kernels may use. The code does not
/// depend on their number.
[[nodiscard]] codegen::Image compile_nests(std::span<const codegen::Nest> nests,
                                           const Target& target);

}  // namespace ricci::runtime
