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

/// A gradient of a random program, with what it is called on.
struct RandomGradient {
    std::string argument;
    Program program;
    Signature signature;
};
/// Calls `check` for the gradients of so many of those programs, without those that have none; ties
/// go each way in turn.
void for_each_gradient(
    std::size_t count,
    const std::function<void(const RandomProgram&, const RandomGradient&)>& check,
    const RandomForms& forms = {});

}  // namespace ricci::tests
