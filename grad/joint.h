// grad/joint.h – a program together with the gradients of some of its arguments
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "grad/account.h"
#include "grad/gradient.h"

namespace ricci::grad {

/// A closed canonical program: the forward's equations on arrays of their own, then those of the
/// adjoints. Its outputs are the gradients, in the order asked for; its arguments are the
/// forward's, then the cotangents. Tensors of the forward keep their numbers.
struct Joint {
    Program program;
    std::vector<TensorId> cotangents;
};
/// Throws: `name` for an unknown argument or output; `gradient` for a part without a derivative.
[[nodiscard]] Joint differentiate(const Program& canonical,
                                  const std::vector<std::string>& arguments, const Options& options,
                                  Account* account = nullptr);

/// The outputs of the forward that the cotangents among a derived program's arguments belong to, by
/// name.
[[nodiscard]] std::map<std::string, std::string> outputs_of_cotangents(const Program& forward,
                                                                       const Program& derived);
/// The ranks with those of the outputs, which are their cotangents'.
[[nodiscard]] Ranks with_outputs(Ranks ranks, const std::map<std::string, std::string>& outputs);

/// The names of a program's arguments.
[[nodiscard]] std::vector<std::string> argument_names(const Program& program);
/// The program with the arguments of these names, in their order, needed or not: what it takes is
/// the same for all ranks.
[[nodiscard]] Program taking(Program program, const std::vector<std::string>& names);

/// Derives `result`, a derivative of `forward`, again for the ranks of arguments at hand, where
/// they decide what the forward is (`..`). `companions`: see outputs_of_cotangents.
void serve_any_ranks(Program& result, const Program& forward,
                     const std::map<std::string, std::string>& companions,
                     const std::function<Program(const Program&)>& derive);

/// The program reduced to what its outputs need: equations, arguments, requirements.
[[nodiscard]] Program without_unused(Program program);
/// The program without the checks that means and positions have a point: those that a forward
/// made need none in its backward.
[[nodiscard]] Program without_point_checks(Program program);

}  // namespace ricci::grad
