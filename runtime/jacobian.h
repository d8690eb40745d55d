// runtime/jacobian.h – whole derivatives of small functions, and products with second ones
#pragma once

#include <string>

#include "runtime/function.h"

namespace ricci {

/// The derivative of the result by one argument at these arguments: element [i…, j…] is how result
/// element i… changes with argument element j…, of the result's type.
/// Shapes: result [o…], argument [a…] → [o…, a…].
/// Throws: what calls throw; `gradient` when the argument or the result is not of a real floating
/// type; `limit`. Cost: a call for each element of the argument (forward mode) or of the result
/// (reverse mode), whichever has fewer.
[[nodiscard]] Array jacobian(const Function& function, const std::string& argument,
                             const Arguments& arguments);

/// The product of the Hessian of the result by one argument with a direction of its shape, by
/// forward mode over the gradient. Of a result with several elements it is the Hessian of
/// `sum(dY*Y)`, where `arguments` may name the cotangent `dY`; otherwise it is ones.
/// Shapes: argument [a…], direction [a…] → [a…].
/// Throws: what calls throw; `gradient`. Cost: one call, a few times the function's own.
[[nodiscard]] Array hessian_product(const Function& function, const std::string& argument,
                                    const Arguments& arguments, const Array& direction);

}  // namespace ricci
