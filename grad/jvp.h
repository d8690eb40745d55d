// grad/jvp.h – tangent programs: forward mode, in the language
#pragma once

#include <string>
#include <vector>

#include "dsl/program.h"
#include "grad/ties.h"

namespace ricci::grad {

struct JvpOptions {
    /// Outputs whose tangents are wanted, by name. Empty: the result's alone.
    std::vector<std::string> outputs = {};
    /// Complex arguments among those of the forward, as of gradients.
    std::vector<std::string> complex_arguments = {};
    Ties ties = Ties::first;
};

/// How the outputs move when some arguments do: a program whose arguments are those of `forward`
/// (only those it needs) and the tangents `dW` (shape and type of argument W), and whose outputs
/// are the tangents `dY` (shape of output Y), in the order asked for. A name that clashes gets
/// suffixes `_`; where the forward updates W in place, so does the program with `dW`. Arguments not
/// named do not move.
/// `forward` need not be canonical; the result is canonical up to temporaries used once.
/// Throws: `name` for an unknown argument or output; `gradient` for a part without a derivative.
[[nodiscard]] Program jvp(const Program& forward, const std::vector<std::string>& arguments,
                          const JvpOptions& options = {});

}  // namespace ricci::grad
