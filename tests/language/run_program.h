// tests/language/run_program.h – programs with their arguments, run on every device at once
#pragma once

#include <initializer_list>
#include <string>

#include "runtime/function.h"

namespace ricci::tests {

/// The result as text, the same from compiled code and from the reference evaluator; otherwise what
/// each of them says. An error's whole text stands for a result.
[[nodiscard]] std::string run(const std::string& text, const Arguments& arguments = {});

/// 0, 1, 2, … in f64, row-major.
[[nodiscard]] Array ramp(Shape shape);
/// A vector of f64, one of i64.
[[nodiscard]] Array reals(std::initializer_list<double> values);
[[nodiscard]] Array keys(std::initializer_list<std::int64_t> values);

}  // namespace ricci::tests
