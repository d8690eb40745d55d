// codegen/keyed_windows.h – windows whose places are data, as keys of their points
#pragma once

#include <vector>

#include "codegen/equation_maker.h"

namespace ricci::codegen {

/// A sum over the points near to which each element of the result lies, as the gradient of windows
/// that are read at places of data, `Y[n,a] := X[J[n]+a]`,
///
///     for t:  dX[t] := sum[n | t-J[n] >= 0 && t-J[n] < 16](dY[n,t-J[n]])
///
/// with an index for the places in a window, so that each point has a key:
///
///     for t:  dX[t] := sum[n, a in 0:16 | t == J[n]+a](dY[n,a])
///
/// Where windows are at most half of what they lie in, along each axis that has some. Of a stride,
/// as in the gradient of `X[J[n]//4]`, there is one place:
///
///     for t:  dX[t] := sum[n | J[n] >= 4*t && J[n] < 4*t+4](dY[n])
///     for t:  dX[t] := sum[n | t == J[n]//4](dY[n])
///
/// Any other equation as it is.
///
/// `indices`: those that may lie in windows. An index of the sum is put in place,
///
///     y := sum[t, n | t-J[n] >= 0 && t-J[n] < 16](x[t])
///     y := sum[n, w in 0:16 | J[n]+w >= 0 && J[n]+w < size(x,0)](x[J[n]+w])
///
/// What the key reads is read before other conditions are looked at: the caller sees to it that all
/// of it is inside.
[[nodiscard]] BoundEquation with_windows_as_keys(EquationMaker& make, const BoundEquation& equation,
                                                 const std::vector<IndexId>& indices);

}  // namespace ricci::codegen
