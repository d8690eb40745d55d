// tests/codegen/check_plan.h – plans executed and compared with the reference evaluator
#pragma once

#include <cstdint>
#include <string>

#include "base/target.h"
#include "codegen/plan.h"
#include "dsl/bound.h"

namespace ricci::tests {

/// A machine of that vector width, for plans that are interpreted.
[[nodiscard]] Target example_target(int vector_bytes);

/// A GPU, for plans that are interpreted. With few multiprocessors a small array keeps all of them
/// busy, as a large one does on a real one.
[[nodiscard]] Target example_gpu_target(int multiprocessors = 132);

/// An array argument, row-major.
[[nodiscard]] ArgumentSpec array(Shape shape, DType dtype = DType::f32);

/// The bound program of a text.
[[nodiscard]] BoundProgram bound(const std::string& text, const Signature& signature);

/// All orders of tasks, blocks and threads that are tried: on a GPU ascending, descending, random.
inline constexpr std::uint64_t any_order = ~std::uint64_t{0};

/// Those of the arguments that a text names.
[[nodiscard]] Signature named(const std::string& text, const Signature& signature);

/// Where the plan, executed by the interpreter, leaves the reference's bound or does what a nest
/// must not: the first element or the error, and the plan. Empty when nowhere.
[[nodiscard]] std::string interpreted_difference(const BoundProgram& program,
                                                 const Signature& signature, const Target& target,
                                                 std::uint64_t order = any_order);
[[nodiscard]] std::string interpreted_difference(const BoundProgram& program,
                                                 const Signature& signature,
                                                 const codegen::Plan& plan,
                                                 std::uint64_t order = any_order);
/// The same for the plan compiled for this machine and run.
[[nodiscard]] std::string compiled_difference(const BoundProgram& program,
                                              const Signature& signature);
/// The same for a target that this machine can run.
[[nodiscard]] std::string compiled_difference(const BoundProgram& program,
                                              const Signature& signature, const Target& target);

/// Whether the schedules of a program have that text, on a machine of wide vectors whose
/// second-level cache holds so many bytes and with a strategy forced. Checks values (doctest) on
/// machines of several widths and compiled on this one.
[[nodiscard]] bool has_directive(const std::string& directive, const std::string& text,
                                 const Signature& signature, std::int64_t l2_bytes, Forced forced);

/// Checks a program on random arguments: its plans for vectors of 64 bytes, on units of 64 and of
/// 32, of 32 and of 16 by the interpreter, and compiled for this machine.
void check_values(const std::string& text, const Signature& signature);

}  // namespace ricci::tests
