// codegen/take_condition.h – updates that are made only where a condition holds
#pragma once

#include <optional>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// The condition of an update by `select(condition, value, identity)`, which changes nothing
/// elsewhere; empty for other stores.
[[nodiscard]] Value condition_of(const Store& store);

/// The condition under which a kernel's only write, an update by `select(condition, value,
/// identity)`, changes anything: it becomes one by `value`. Empty, and nothing done, for other
/// kernels and where the condition depends on the lanes.
[[nodiscard]] Value take_condition(Kernel& kernel, const std::optional<Axis>& lane);

/// What a kernel's points write: where the condition holds, if there is one, what is left in the
/// kernel; elsewhere these, which change nothing where it does.
struct Alternatives {
    Value condition = nullptr;
    std::vector<Store> otherwise;
};
/// The same of a kernel without lanes, whose writes before the last may be updates by
/// `select(condition, identity, value)`.
[[nodiscard]] Alternatives take_alternatives(Kernel& kernel);

}  // namespace ricci::codegen
