// runtime/reference.h – evaluates bound programs slowly and obviously: the oracle of every test
#pragma once

#include <utility>
#include <vector>

#include "dsl/bound.h"
#include "runtime/array.h"

namespace ricci::runtime {

/// The outputs of the program, in order, for the arguments in order of `program.arguments`. Every
/// node of a term is rounded to its own type; sums are exact up to one rounding (compensated, in
/// double). No argument is written.
[[nodiscard]] std::vector<Array> evaluate(const BoundProgram& program,
                                          const std::vector<Array>& arguments);

/// Throws the error of a check of the program, which fails for these values of the tensors that it
/// reads: what is wrong at the first point where it fails.
[[noreturn]] void raise_failed_check(const BoundProgram& program, const BoundCheck& check,
                                     const std::vector<std::pair<TensorId, Array>>& values);

/// A value with the distance by which a correct evaluation of another kind (other orders of
/// summation, contraction to fma, function approximations) may differ from it; infinite where that
/// cannot be said, such as where a comparison is too close to call.
struct Estimate {
    Array value;
    Array bound;  ///< f64, of the value's shape
};
[[nodiscard]] std::vector<Estimate> evaluate_with_bounds(const BoundProgram& program,
                                                         const std::vector<Array>& arguments);

}  // namespace ricci::runtime
