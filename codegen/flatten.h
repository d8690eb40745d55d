// codegen/flatten.h – two free axes of a contraction walked as one
//
// A convolution's columns `(y, x)` read its input at `pitch*y + x`: lanes along `pitch*y + x` fill
// vectors whatever the extent of x. The points between two rows, `inner.extent` to `pitch`, are
// computed from elements that stand there, and not written.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

struct Flattened {
    Kernel kernel;  ///< over `flat`; its writes are those of the first row alone
    Axis flat;      ///< the place of its points is `pitch * outer + inner`
    Axis outer;
    Axis inner;
    std::int64_t pitch = 0;
    std::vector<Store> writes;  ///< over `outer` and `inner`
};

/// The ways in which a kernel without meeting writes can be flattened: every load of its body that
/// moves with two axes does so in one proportion, and nothing else does.
[[nodiscard]] std::vector<Flattened> flattenings(const Kernel& kernel);

}  // namespace ricci::codegen
