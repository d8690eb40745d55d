// runtime/elementwise.h – the few operations on whole arrays that the runtime itself needs
#pragma once

#include "runtime/array.h"

namespace ricci::runtime {

/// Copies the elements of `from` into the memory of `to`, which has the same type and shape.
void assign(const Array& to, const Array& from);

/// The sum of two arrays of one floating type and shape, in new memory.
/// Throws: `shape` and `type` when they differ.
[[nodiscard]] Array sum(const Array& a, const Array& b);

}  // namespace ricci::runtime
