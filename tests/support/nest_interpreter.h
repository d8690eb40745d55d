// tests/support/nest_interpreter.h – executes loop nests scalar by scalar, checking every access
#pragma once

#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::tests {

/// Runs the plan of a bound program on arguments in its order; gives its outputs. Arguments that
/// are updated are changed in place. What a nest means is read off its statements, one after the
/// other, lane by lane. Throws: `internal` for an access outside its buffer, a read of an element
/// that nothing has written, and for two tasks of one kernel that touch an element which one of
/// them writes.
[[nodiscard]] std::vector<Array> interpret(const BoundProgram& program, const codegen::Plan& plan,
                                           const std::vector<Array>& arguments);

}  // namespace ricci::tests
