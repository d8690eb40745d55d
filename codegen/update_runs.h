// codegen/update_runs.h – updates of one element by neighbouring points, combined first
//
//     for i in order:  H[J[i]] += x[i]
//
// Where neighbouring keys are equal, as sorted ones, each addition waits for the one before it. So
// the values of a turn's points are combined where all of these name one element:
//
//     if J[i] == J[i+1] == ... == J[i+7]:  H[J[i]] += ((x[i]+x[i+1]) + (x[i+2]+x[i+3])) + ...
//     else:                                H[J[i]] += x[i]; H[J[i+1]] += x[i+1]; ...
//
// The same of short rows, `H[J[i],c] += X[i,c]`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Whether neighbouring points along the axis may update one element, or one row of few lanes, and
/// that takes long. A condition of updates (take_condition.h) has to hold at all of these points.
[[nodiscard]] bool may_have_runs(const Kernel& kernel, const Axis& axis,
                                 const std::optional<Axis>& lane);

/// The updates of `count` points, or rows, along an axis for which that holds, from `start` on.
/// `write` gives the statements of one, at the axis's variable: what the kernel writes at the
/// moment. Places are read more than once.
[[nodiscard]] Body combine_runs(Kernel& kernel, VarId axis, VarId start, std::int64_t count,
                                const std::function<Body()>& write);

}  // namespace ricci::codegen
