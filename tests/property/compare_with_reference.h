// tests/property/compare_with_reference.h – compiled programs against the reference evaluator
#pragma once

#include <cstdint>

#include "dsl/program.h"
#include "runtime/device.h"
#include "tests/support/compare.h"

namespace ricci::tests {

/// The outputs of a program compiled for a device, called on random arguments, against the
/// reference evaluator's.
[[nodiscard]] Comparison compare_with_reference(Device device, const Program& program,
                                                const Signature& signature, std::uint64_t seed);

}  // namespace ricci::tests
