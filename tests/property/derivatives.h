// tests/property/derivatives.h – derivatives of random programs in f64, on the reference evaluator
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/bound.h"
#include "grad/ties.h"
#include "runtime/array.h"
#include "tests/support/random_program.h"

namespace ricci::tests {

[[nodiscard]] double dot(const Array& a, const Array& b);
/// The sum of the magnitudes of the terms that `dot` adds up.
[[nodiscard]] double magnitude(const Array& a, const Array& b);

/// A program in f64 with its arguments and its result.
class Differentiable {
  public:
    Differentiable(const RandomProgram& random, const Program& program);

    [[nodiscard]] const Program& program() const { return program_; }
    [[nodiscard]] const std::vector<Array>& arguments() const { return arguments_; }
    [[nodiscard]] const Array& value() const { return value_; }
    [[nodiscard]] std::uint64_t seed() const { return seed_; }
    /// The floating arguments, if the result is floating, too.
    [[nodiscard]] std::vector<std::size_t> wanted() const;
    [[nodiscard]] const std::string& name(std::size_t argument) const {
        return forward_.at(forward_.arguments[argument]).name;
    }
    /// The result with the argument moved by h times the direction.
    [[nodiscard]] Array moved_result(std::size_t argument, const Array& direction, double h) const;

    /// A derivative with the values of what it takes beside the forward's arguments, by name: the
    /// cotangent of the result, or the tangents. Equal names have equal values everywhere.
    struct Derivative {
        Program program;
        Signature signature;
        BoundProgram bound;
        bool is_long = false;  ///< was not evaluated: that would take the reference seconds
        std::vector<Array> arguments;
        Array value;

        /// An argument's value; nothing for what it does not take.
        [[nodiscard]] std::optional<Array> argument(const std::string& name) const;
        /// The value of the one argument that the forward does not take, if there is one.
        [[nodiscard]] std::optional<Array> given(const Program& forward) const;
        /// The tangent of an argument of the forward, if it takes one.
        [[nodiscard]] std::optional<Array> companion(const std::string& of,
                                                     const Program& forward) const;
    };
    /// The gradient of an argument; nothing where the language has none.
    [[nodiscard]] std::optional<Derivative> gradient(std::size_t argument) const;
    /// The tangent of the result when these arguments move.
    [[nodiscard]] std::optional<Derivative> tangent(const std::vector<std::size_t>& moved) const;

  private:
    [[nodiscard]] Derivative evaluated(Program derived) const;

    std::uint64_t seed_;
    /// Shares sum to the whole: an element that is read twice has its whole derivative.
    grad::Ties ties_ = seed_ % 2 == 0 ? grad::Ties::first : grad::Ties::even;
    const Program& program_;
    Signature signature_;
    std::string result_name_;
    BoundProgram forward_;
    std::vector<Array> arguments_;
    Array value_;
};

enum class Outcome : std::uint8_t { agrees, kink, no_derivative, is_long };
/// Compares the gradient of one argument with central differences. Fails the case when it is wrong.
[[nodiscard]] Outcome check_differences(const Differentiable& what, std::size_t argument);
/// What comparisons of forward with reverse mode found. Totals add up.
struct DualityCount {
    std::size_t agreed = 0;
    std::size_t infinite = 0;   ///< not compared: something is not finite
    std::size_t without = 0;    ///< arguments without a derivative
    std::size_t long_ones = 0;  ///< arguments whose derivatives were not evaluated
    double worst = 0;  ///< the largest error in sums of the terms' magnitudes, f32 left out
    DualityCount& operator+=(const DualityCount& other);
};
/// Compares the gradients of all arguments with tangents along random directions, each alone and
/// all together, within 1e-9 of the sum of the terms' magnitudes. Fails the case when one is wrong.
[[nodiscard]] DualityCount check_duality(const Differentiable& what);

}  // namespace ricci::tests
