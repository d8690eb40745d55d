// codegen/scalar_points.h – points that no lanes take
#pragma once

#include <functional>
#include <optional>

#include "codegen/tasks.h"

namespace ricci::codegen {

/// Points one after the other, as of updates that may meet; of short ones several a turn of the
/// innermost loop, which leaves the split. `write` gives the statements of a point: its place along
/// an axis, the others are variables of their loops. Where all points exist, none under a
/// condition, those of a turn that update one element may do so together.
[[nodiscard]] Body scalar_points(
    Kernel& kernel, TaskSplit& split, bool all_exist,
    const std::function<Body(std::optional<VarId> axis, AffineForm place)>& write);

}  // namespace ricci::codegen
