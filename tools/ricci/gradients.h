// tools/ricci/gradients.h – the gradients of a program with the arguments they run on
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/bound.h"

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
                                                   const Arguments& given, Ties ties = Ties::first);

/// The tangents of outputs, ready to be called.
struct Tangents {
    std::vector<std::string> names;  ///< of the outputs' tangents, in the order asked for
    Function function;
    Arguments arguments;  ///< the forward's and the tangents of those that move
};

/// The tangents of the outputs (none: of the result) when the arguments `wrt` move, on arguments of
/// the forward among which tangents (`dA`) may stand. When none does, they are ones; otherwise
/// those not given are zero. Throws: `name` for arguments that do not exist, and what binding
/// throws.
[[nodiscard]] Tangents make_tangents(const Function& function, const std::vector<std::string>& wrt,
                                     const std::vector<std::string>& outputs,
                                     const Arguments& given, Ties ties = Ties::first);

/// The output whose cotangent has that name (`dY`, or `dY_` where `dY` is taken), if any.
[[nodiscard]] std::optional<std::string> output_of_cotangent(const Program& program,
                                                             std::string name);

/// The shapes that a gradient is bound to: the forward's arguments it needs, and cotangents with
/// the shape of the result where they are not given.
[[nodiscard]] Signature signature_of_gradient(const Program& gradient, const Signature& given,
                                              const Program& forward);

}  // namespace ricci::tool
