// tools/ricci/against.h – generated gradients against a program of gradients written by hand
#pragma once

#include <string>

#include "ricci/ricci.h"

namespace ricci::tool {

/// Compares every gradient that the program in `file` makes (`dW` of the argument `W`) with the
/// generated one, in f64 or c128 where the arguments are floating or complex, and times both for
/// the arguments as they are. Prints a line for each; what disagrees by more than `tolerance`,
/// relative to the larger value or the root mean square, goes to standard error. The file's program
/// may take the arguments and outputs of the function and the cotangent of its result, which is
/// given among the arguments or random. Gives the exit status. Throws: `io` for a file that cannot
/// be read, `name` for one that takes something else or makes no gradient, `shape` and `type` for
/// gradients that are not the argument's, and what calls throw.
[[nodiscard]] int compare_with_file(const Function& function, const Arguments& given,
                                    const std::string& file, double tolerance);

}  // namespace ricci::tool
