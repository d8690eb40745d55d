// tests/codegen/check_plan.h – plans executed and compared with the reference evaluator
#pragma once

#include <string>

#include "base/target.h"
#include "dsl/bound.h"

namespace ricci::tests {

/// A machine of that vector width, for plans that are interpreted.
[[nodiscard]] Target example_target(int vector_bytes);

/// An array argument, row-major.
[[nodiscard]] ArgumentSpec array(Shape shape, DType dtype = DType::f32);

/// The bound program of a text.
[[nodiscard]] BoundProgram bound(const std::string& text, const Signature& signature);

/// Where the plan, executed by the interpreter, leaves the reference's bound: the first element,
/// and the plan. Empty when nowhere.
[[nodiscard]] std::string interpreted_difference(const BoundProgram& program,
                                                 const Signature& signature, const Target& target);
/// The same for the plan compiled for this machine and run.
[[nodiscard]] std::string compiled_difference(const BoundProgram& program,
                                              const Signature& signature);

}  // namespace ricci::tests
