// runtime/random.h – counter-based random numbers: the same bits on every machine
#pragma once

#include <cstdint>

namespace ricci::runtime {

/// A stream of independent 64-bit words: word `counter` is a function of seed and counter alone, so
/// that any element of an array can be made without the ones before it.
/// Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64).
class RandomStream {
  public:
    explicit RandomStream(std::uint64_t seed) noexcept;

    [[nodiscard]] std::uint64_t word(std::uint64_t counter) const noexcept;
    /// Uniform in [0, 1), a multiple of 2^-53.
    [[nodiscard]] double uniform(std::uint64_t counter) const noexcept;
    /// Standard normal, by the inverse of its distribution function.
    [[nodiscard]] double normal(std::uint64_t counter) const noexcept;
    /// Uniform in [0, count), without bias beyond 2^-64.
    [[nodiscard]] std::uint64_t below(std::uint64_t counter, std::uint64_t count) const noexcept;

  private:
    std::uint64_t start_;
};

/// The value that a standard normal variable falls below with the given probability in (0, 1). Made
/// of the four operations and square roots alone, so that it has the same bits on every machine.
/// Source: Wichura 1988, "Algorithm AS 241: the percentage points of the normal distribution",
/// routine PPND16 (relative error about 1e-16).
[[nodiscard]] double normal_quantile(double probability) noexcept;

}  // namespace ricci::runtime
