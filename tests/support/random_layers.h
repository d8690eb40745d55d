// tests/support/random_layers.h – random products and passes over rows, as layers have them
#pragma once

#include "tests/support/random_program.h"

namespace ricci::tests {

/// A reduction of two operands: rows against columns with or without a batch, in any order of
/// dimensions, windows of a convolution at any stride and padding, any monoid, an epilogue.
[[nodiscard]] RandomProgram random_product(std::uint64_t seed);

/// Two to five passes over the elements of the same rows, reductions among them, each of which
/// reads what earlier ones gave.
[[nodiscard]] RandomProgram random_rows(std::uint64_t seed);

}  // namespace ricci::tests
