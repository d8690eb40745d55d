// tests/grad/numeric.h – derivative programs against central differences of the reference evaluator
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dsl/program.h"
#include "grad/gradient.h"
#include "runtime/array.h"

namespace ricci::tests {

using Arrays = std::map<std::string, Array>;

/// f64 values uniform in [low, high), the same for the same seed.
[[nodiscard]] Array uniform(const Shape& shape, double low, double high, std::uint64_t seed);

/// The program's outputs by name, evaluated by the reference. Arrays that are no argument of the
/// program are ignored; rank 0 arrays are scalars.
[[nodiscard]] Arrays evaluate(const Program& program, const Arrays& arrays,
                              const std::vector<std::string>& outputs = {});

/// Checks, for every argument of the program, that its gradient program agrees with central
/// differences of `sum(dY * Y)` for a random dY and with forward mode along a random direction, and
/// that what both print as means the same.
void check_gradients(const std::string& text, const Arrays& arguments);
/// The same for some of the arguments.
void check_gradients(const std::string& text, const Arrays& arguments,
                     const std::vector<std::string>& wanted);

}  // namespace ricci::tests
