// codegen/placed_windows.h – sums over windows of whose points data says where they go
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Points of a window from which on it is better asked once where it goes than by each element.
inline constexpr double least_placed = 64;

/// The program with sums over the windows of an element that ask each whether the element is its
/// own one, as the gradient of a maximum over long windows does,
///
///     for u:  dx[u] := sum[k in 0:500 | 0 <= u-k < size(dy)](k == place[u-k] ? dy[u-k] : 0)
///
/// written over the windows themselves, each of which says where it goes:
///
///     for u:  dx[u] := sum[t | u == t+place[t]](dy[t])
///
/// which are updates by a key (codegen/keyed.h). So are windows of several indices, of which one
/// number counts the points, `7*r + s == place[t-r,u-s]`. Windows of fewer points than `least`
/// stay. Makes new terms in the program's context.
[[nodiscard]] BoundProgram with_placed_windows(BoundProgram program, double least = least_placed);

}  // namespace ricci::codegen
