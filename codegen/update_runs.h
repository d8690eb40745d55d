// codegen/update_runs.h – updates of one element by neighbouring points, combined first
//
//     for i in order:  H[J[i]] += x[i]
//
// Where neighbouring keys are equal, as sorted ones, each addition waits for the one before it. So
// the values of a turn's points are combined where all of these name one element:
//
//     if J[i] == J[i+1] == ... == J[i+7]:  H[J[i]] += ((x[i]+x[i+1]) + (x[i+2]+x[i+3])) + ...
//     else:                                H[J[i]] += x[i]; H[J[i+1]] += x[i+1]; ...
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Whether neighbouring points along the axis may update one element, and that takes long.
[[nodiscard]] bool may_have_runs(const Kernel& kernel, const Axis& axis);

/// The updates of `count` points along an axis for which that holds, from `first` on; `points` are
/// the same one after the other.
[[nodiscard]] Body combine_runs(Kernel& kernel, VarId axis, const AffineForm& first,
                                std::int64_t count, Body points);

}  // namespace ricci::codegen
