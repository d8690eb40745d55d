// codegen/narrow_places.h – places of extremal elements in the narrowest type that holds them
#pragma once

#include "dsl/bound.h"

namespace ricci::codegen {

/// Temporaries that an argmax or argmin defines and only equations read are stored as i8, i16 or
/// i32 where the reduced index has few values; reads convert to i64. The gradient of a pooling
/// reads one for each element.
[[nodiscard]] BoundProgram with_narrow_places(BoundProgram program);

}  // namespace ricci::codegen
