// codegen/scalar_points.h – points and rows one after the other, as of updates that may meet
#pragma once

#include <functional>
#include <optional>

#include "codegen/take_condition.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

/// What makes a kernel's terms those of a point: its place along an axis, if one is given; the
/// others are variables of their loops.
using PlaceOfPoint =
    std::function<Substitution(std::optional<VarId> axis, const AffineForm& place)>;

/// Points that no lanes write; of a long innermost loop, which leaves the split, several a turn.
/// Where they exist under a condition, it is found for a block of them in lanes
/// (block_conditions.h). What is dear of a turn's points that all exist is computed in lanes
/// (staged_terms.h), and those that update one element do so together (update_runs.h).
[[nodiscard]] Body scalar_points(Kernel& kernel, TaskSplit& split, const Alternatives& alternatives,
                                 const PlaceOfPoint& at);

/// Rows of lanes along an axis: those of a turn that update one row do so together. `write` gives
/// the statements of a row at the variable of the innermost loop, which may leave the split.
[[nodiscard]] Body rows_in_turns(Kernel& kernel, TaskSplit& split, const Axis& lane,
                                 const std::function<Body()>& write);

}  // namespace ricci::codegen
