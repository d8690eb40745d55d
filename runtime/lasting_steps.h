// runtime/lasting_steps.h – steps of a plan whose results last as long as integer arguments do
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"

namespace ricci::runtime {

/// Steps that integer arguments alone decide, such as those that sort the points of `A[J[i]]` by
/// key, and the checks of J. While the arguments keep their values they need not run again.
struct LastingSteps {
    std::vector<bool> steps;             ///< one for each of the plan
    std::vector<bool> buffers;           ///< temporaries with results that other steps read
    std::vector<std::size_t> arguments;  ///< of the program, that the steps read
};

/// None of them writes an argument or an output, or stands where a library may.
[[nodiscard]] LastingSteps lasting_steps(const BoundProgram& program, const codegen::Plan& plan);

}  // namespace ricci::runtime
