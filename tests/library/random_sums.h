// tests/library/random_sums.h – seeded contractions and convolutions as programs
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/bound.h"

namespace ricci::tests {

/// A program of one equation and what it is bound to.
struct RandomSum {
    std::string text;
    Signature signature;
};

/// A product of A and B summed over some of their indices, with random index groups, orders,
/// strides, types, and sometimes factors, addends, a bias, an activation or an update.
[[nodiscard]] RandomSum random_contraction(std::uint64_t seed);

/// A convolution `Y[…] := X[…]*W[…]` of 1 to 3 spatial dimensions: strides, dilations, padding,
/// groups, channels and orders of dimensions at random; sometimes turned round (`x[p-k]`). Texts
/// of three spatial dimensions are small.
[[nodiscard]] RandomSum random_convolution(std::uint64_t seed);

/// The program of the gradient of the argument, with the signature that it is bound to.
struct BoundSum {
    BoundProgram program;
    Signature signature;
};
[[nodiscard]] BoundSum gradient_of(const RandomSum& sum, const std::string& argument);

}  // namespace ricci::tests
