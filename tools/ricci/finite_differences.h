// tools/ricci/finite_differences.h – gradients against differences of function values
#pragma once

#include <cstddef>
#include <string>

#include "ricci/ricci.h"

namespace ricci::tool {

/// How one gradient agrees with differences.
struct DifferenceResult {
    std::size_t compared = 0;
    std::size_t skipped = 0;   ///< where rounding or a kink leaves nothing to compare with
    double largest_error = 0;  ///< |gradient - difference|
    double allowed = 0;        ///< there
    std::string failure;       ///< the first element that disagrees; empty: none
};

/// The numbers of an array in f64, row-major; of complex ones both parts, one after the other.
[[nodiscard]] Array in_doubles(const Array& array);

/// Compares the gradient of `sum(real(conj(cotangent) * result))` for one argument with central
/// differences, in f64, at up to `max_elements` elements spread over the argument; of complex ones
/// both parts move, one at a time, and are what the parts of the gradient are compared with. What
/// may differ is bounded by the rounding of the function values (`value_error`: of the whole sum)
/// over the step, and by how much the difference still changes when the step is halved. At a kink
/// the gradient has to lie between the differences of the two sides, each number of the result for
/// itself. `arguments` are those of `function`, all floating ones f64, all complex ones c128.
[[nodiscard]] DifferenceResult compare_with_differences(const Function& function,
                                                        const Arguments& arguments,
                                                        const std::string& wrt,
                                                        const Array& cotangent,
                                                        const Array& gradient, double value_error,
                                                        std::size_t max_elements = 32);

}  // namespace ricci::tool
