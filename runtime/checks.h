// runtime/checks.h – checks of a program that stand between the steps of its plan
//
// A device runs the steps in order and looks at a verdict before the step after it. When it fails,
// `raise_failed_check` says what is wrong. Where arguments are written before the last check, the
// steps run on copies of them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "codegen/plan.h"
#include "dsl/bound.h"
#include "runtime/array.h"
#include "runtime/slots.h"

namespace ricci::runtime {

/// Runs a program on arguments in its order.
using RunProgram =
    std::function<std::vector<Array>(BoundProgram program, std::span<const Array* const>)>;

/// Throws the error of the check of that number, which has failed for these arguments. What the
/// check reads is computed again, up to where it stands, by `run`. No argument is written.
[[noreturn]] void raise_failed_check(const BoundProgram& program, std::size_t number,
                                     std::span<const Array* const> arguments,
                                     const RunProgram& run);

/// Whether a step writes an argument before the last check.
[[nodiscard]] bool writes_before_checks(const codegen::Plan& plan, const Slots& slots);

/// Arguments of which those that are updated are copies, with the same strides.
struct UpdatedCopies {
    std::vector<Array> memory = {};
    std::vector<Array> copies = {};  ///< in the order of their positions
    std::vector<const Array*> arguments = {};
};
[[nodiscard]] UpdatedCopies copy_updated(const std::vector<std::size_t>& updated,
                                         std::span<const Array* const> arguments);

/// What `run` gives for arguments of which the updated ones are copies. When it returns, the copies
/// take the place of the arguments, in the outputs too.
[[nodiscard]] std::vector<Array> run_on_copies(
    const Slots& slots, std::span<const Array* const> arguments,
    const std::function<std::vector<Array>(std::span<const Array* const>)>& run);

}  // namespace ricci::runtime
