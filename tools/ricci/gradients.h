// tools/ricci/gradients.h – the gradients of a program with the arguments they run on
#pragma once

#include <string>
#include <vector>

#include "ricci/ricci.h"

namespace ricci::tool {

/// A gradient that is ready to be called.
struct Gradient {
    std::string argument;
    std::string name;  ///< of its result: `dA`
    Function function;
    Arguments arguments;  ///< the forward's and the cotangents, those it accepts
};

/// The gradients for `wrt` on arguments of the forward among which cotangents (`dY`) may stand.
/// When none does, the cotangent of the result is ones; otherwise those not given are zero. Throws:
/// `name` for arguments and cotangents that do not exist, and what binding throws.
[[nodiscard]] std::vector<Gradient> make_gradients(const Function& function,
                                                   const std::vector<std::string>& wrt,
                                                   const Arguments& given);

}  // namespace ricci::tool
