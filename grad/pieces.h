// grad/pieces.h – relations whose subscripts are affine or data, from those that are modified
#pragma once

#include <vector>

#include "dsl/program.h"
#include "grad/extents.h"
#include "grad/gather.h"

namespace ricci::grad {

/// Relations without modified subscripts that add up to the given one. What is padded is written
/// where it is inside; a wrapped subscript e gets an index m more, `t = e - N*m`; a mirrored one is
/// two such relations, a clamped one three: inside, below and beyond. Data keeps its modifier as
/// index arithmetic, in 64 bits. New indices are added to the program.
[[nodiscard]] std::vector<Relation> without_modifiers(Program& program, const Extents& extents,
                                                      const Relation& relation);

/// The place that a subscript names in a dimension of that extent, as index arithmetic; of what is
/// padded, one that may lie outside.
[[nodiscard]] Expr place_of(const Program& program, Expr subscript, Expr extent);

}  // namespace ricci::grad
