// codegen/cpu/half.h – numbers of sixteen bits to f32 and back
#pragma once

#include "base/dtype.h"
#include "codegen/cpu/wide.h"

namespace ricci::codegen::cpu {

/// The f32 of bits of type `dtype`.
[[nodiscard]] Wide widened_half(Wide bits, DType dtype);
/// The bits of the number of type `to` that is nearest to `a` of another type, even where two are.
[[nodiscard]] Wide rounded_half(Wide a, DType from, DType to);

}  // namespace ricci::codegen::cpu
