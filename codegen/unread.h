// codegen/unread.h – equations whose results nobody reads
#pragma once

#include <set>

#include "dsl/bound.h"

namespace ricci::codegen {

/// The tensors that an equation reads: for its values, its places and its condition.
[[nodiscard]] std::set<TensorId> tensors_read(const BoundEquation& equation);

/// The program without equations that define temporaries of which nothing is read, directly or for
/// a check, as rewriting leaves them behind. What updates an array stays.
[[nodiscard]] BoundProgram without_unread(BoundProgram program);

}  // namespace ricci::codegen
