// codegen/place_blocks.h – places of extremes in windows that overlap, block by block
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// The program with places of extremes over large windows that overlap, as gradients of maxima
/// over such windows ask for,
///
///     for t:  place[t] := argmax[k in 0:500](x[t+k])
///
/// found in blocks, which windows share: the extreme of each, the first place of it, and which
/// block of a window has the best,
///
///     for u:  place_best[u] := max[b in 0:20](x[u+b])
///     for u:  place_first[u] := argmax[b in 0:20](x[u+b])
///     for t:  place_block[t] := argmax[a in 0:25](place_best[t+20*a])
///     for t:  place[t] := 20*place_block[t] + place_first[t+20*place_block[t]]
///
/// Of windows of several dimensions, whose points one number counts, rows are the blocks. Equal
/// elements, infinities and NaN give the places that they gave. Makes new terms in the program's
/// context.
[[nodiscard]] BoundProgram with_place_blocks(BoundProgram program, double least_points);

}  // namespace ricci::codegen
