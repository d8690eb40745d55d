// codegen/interval_blocks.h – points of intervals that a task passes over in blocks
//
// Where points update the elements of intervals, each task looks for those that have elements in
// its piece. Rows of a sparse matrix follow each other: of most blocks of them, lanes see that no
// interval meets the piece:
//
//     for b by 64:
//       vector l in 0..16:  none[l] min= p[b+v+l] >= end || p[b+v+l+1] <= begin    (four times)
//       if !min(none):  for i in b..b+64:  for e in the interval:  D[e] += y[i]
#pragma once

#include <optional>
#include <vector>

#include "codegen/tasks.h"

namespace ricci::codegen {

/// The loops around a body, as `wrap`, of which the first may be in such blocks; `lanes`: the range
/// of the lanes' axis, inside the body, if there is one.
[[nodiscard]] Body wrap_in_blocks(Kernel& kernel, const std::vector<AxisRange>& loops,
                                  const std::optional<AxisRange>& lanes, Body body);

}  // namespace ricci::codegen
