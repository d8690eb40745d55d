// codegen/nest_verify.h – every invariant of codegen/nest.h, checked
#pragma once

#include <string_view>

#include "codegen/nest.h"

namespace ricci::codegen {

/// Checks a CPU nest; `stage` names what made it.
/// Throws: `internal` saying which statement breaks which rule.
void verify(const Nest& nest, std::string_view stage);

}  // namespace ricci::codegen
