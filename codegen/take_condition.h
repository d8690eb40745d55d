// codegen/take_condition.h – updates that are made only where a condition holds
#pragma once

#include <optional>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// The condition under which a kernel's only write, an update by `select(condition, value,
/// identity)`, changes anything: it becomes one by `value`. Empty, and nothing done, for other
/// kernels and where the condition depends on the lanes.
[[nodiscard]] Value take_condition(Kernel& kernel, const std::optional<Axis>& lane);

}  // namespace ricci::codegen
