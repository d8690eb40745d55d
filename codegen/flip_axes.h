// codegen/flip_axes.h – axes that are walked backwards, run from their end
#pragma once

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Runs axes from their last point on along which elements are read or written one before the
/// other, and none one after the other: of `Y[i,j] := A[j,N-1-i]` i, so that both A and Y have an
/// axis along which they are contiguous. Sums are, over an axis that all operands walk so, in the
/// order of memory.
void flip_axes(Kernel& kernel);

}  // namespace ricci::codegen
