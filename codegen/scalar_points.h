// codegen/scalar_points.h – points and rows one after the other, as of updates that may meet
#pragma once

#include <functional>
#include <optional>

#include "codegen/tasks.h"

namespace ricci::codegen {

/// Points that no lanes write; of a long innermost loop, which leaves the split, several a turn.
/// `write` gives the statements of a point: its place along an axis, the others are variables of
/// their loops. Where all points exist, none under a condition, what is dear of a turn's points is
/// computed in lanes (staged_terms.h), and those that update one element do so together
/// (update_runs.h).
[[nodiscard]] Body scalar_points(
    Kernel& kernel, TaskSplit& split, bool all_exist,
    const std::function<Body(std::optional<VarId> axis, AffineForm place)>& write);

/// Rows of lanes along an axis: those of a turn that update one row do so together. `write` gives
/// the statements of a row at the variable of the innermost loop, which may leave the split.
[[nodiscard]] Body rows_in_turns(Kernel& kernel, TaskSplit& split, const Axis& lane,
                                 const std::function<Body()>& write);

}  // namespace ricci::codegen
