// tests/property/sample.h – the random programs that a property is checked on
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "dsl/program.h"
#include "tests/support/random_program.h"

namespace ricci::tests {

/// RICCI_TEST_PROGRAMS, else 5,000 with RICCI_TEST_FULL, else 300.
[[nodiscard]] std::size_t program_count();

/// Calls `check` for so many valid programs, parsed and canonical; a seed whose program the
/// language refuses is passed over. Fails the case when the generator misses more than one in ten
/// (of all types: one in two), and when an error of Ricci's own comes up.
void for_each_program(std::size_t count,
                      const std::function<void(const RandomProgram&, const Program&)>& check,
                      const RandomForms& forms = {});

/// How many points the program's equations go through: of some millions, the reference takes
/// seconds, for what is gathered it looks everywhere.
[[nodiscard]] double points(const BoundProgram& program);

/// A derivative of a random program by one argument, with what it is called on.
struct RandomDerivative {
    std::string argument;
    Program program;
    Signature signature;
};
using CheckDerivative = std::function<void(const RandomProgram&, const RandomDerivative&)>;
/// Calls `check` for the gradients of so many of those programs, without those that have none; ties
/// go each way in turn.
void for_each_gradient(std::size_t count, const CheckDerivative& check,
                       const RandomForms& forms = {});
/// The same for the tangents of their results.
void for_each_tangent(std::size_t count, const CheckDerivative& check,
                      const RandomForms& forms = {});

/// The same arguments, those of f32 in another type.
[[nodiscard]] Signature with_floating(Signature signature, DType dtype);

}  // namespace ricci::tests
