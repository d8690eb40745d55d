// tests/support/nest_interpreter.h – plans executed on arrays, kernel after kernel
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::tests {

/// Runs the plan of a bound program on arguments in its order; gives its outputs. Arguments that
/// are updated are changed in place. What a nest means is read off its statements, one after the
/// other, lane by lane. `order` is that of tasks, blocks and threads, see nest_machine.h.
/// Throws: `internal` for whatever `execute` finds, and for an output that is not written.
[[nodiscard]] std::vector<Array> interpret(const BoundProgram& program, const codegen::Plan& plan,
                                           const std::vector<Array>& arguments,
                                           std::uint64_t order = 0);

}  // namespace ricci::tests
