// codegen/equal_steps.h – steps that make what an earlier one has made
#pragma once

#include "codegen/plan.h"

namespace ricci::codegen {

/// Drops the steps of a plan for a CPU that would write, into temporaries which nothing else
/// writes, what an earlier step wrote into others, from buffers that did not change in between:
/// panels of an operand that two products read. What read theirs reads the earlier ones.
void drop_equal_steps(Plan& plan);

}  // namespace ricci::codegen
