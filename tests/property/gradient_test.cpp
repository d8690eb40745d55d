// tests/property/gradient_test.cpp – gradient programs against central differences
#include "grad/gradient.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/bound.h"
#include "tests/property/sample.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

// Differences are taken along one random direction of all elements of an argument, in f64, at a
// step and at half of it. Extrapolated, the truncation error is of the fourth order; where the two
// disagree by more than smooth functions do, there is a kink in between.
constexpr double step = 1e-4;
constexpr double disagreement = 1e-7;
constexpr double tolerance = 1e-6;

Signature in_f64(Signature signature) {
    for (auto& [name, spec] : signature)
        if (is_floating(spec.dtype)) spec.dtype = DType::f64;
    return signature;
}

double dot(const Array& a, const Array& b) {
    double sum = 0;
    for (std::int64_t n = 0; n < a.size(); ++n)
        sum += a.span<double>()[static_cast<std::size_t>(n)] *
               b.span<double>()[static_cast<std::size_t>(n)];
    return sum;
}

Array magnitudes(const Array& a) {
    const Array result = a.copy();
    for (double& x : result.span<double>()) x = std::abs(x);
    return result;
}

/// One program in f64, its arguments, and what they are moved by.
class Differences {
  public:
    Differences(const RandomProgram& random, const Program& program)
        : seed_(random.seed),
          program_(program),
          signature_(in_f64(random.signature)),
          result_name_(program.at(program.result()).name),
          forward_(ricci::bind(program, signature_, {result_name_})),
          arguments_(random_arguments(forward_, signature_, seed_)),
          value_(runtime::evaluate(forward_, arguments_).back()) {}

    enum class Outcome { agrees, kink, no_derivative };
    /// Fails the case when the gradient of the argument is wrong.
    Outcome check(std::size_t argument);

    [[nodiscard]] std::size_t arguments() const { return arguments_.size(); }
    /// Whether the result is of a floating type: counts and sums of indices have no gradients.
    [[nodiscard]] bool has_gradients() const { return value_.dtype() == DType::f64; }

  private:
    [[nodiscard]] double slope(std::size_t argument, const Array& direction, double h,
                               const Array& cotangent) const;
    [[nodiscard]] Array moved_result(std::size_t argument, const Array& direction, double h) const;

    std::uint64_t seed_;
    const Program& program_;
    Signature signature_;
    std::string result_name_;
    BoundProgram forward_;
    std::vector<Array> arguments_;
    Array value_;
};

Array Differences::moved_result(std::size_t argument, const Array& direction, double h) const {
    std::vector<Array> arguments = arguments_;
    arguments[argument] = arguments_[argument].to(DType::f64).copy();
    for (std::size_t n = 0; n < static_cast<std::size_t>(direction.size()); ++n)
        arguments[argument].span<double>()[n] += h * direction.span<double>()[n];
    return runtime::evaluate(forward_, arguments).back();
}

double Differences::slope(std::size_t argument, const Array& direction, double h,
                          const Array& cotangent) const {
    return (dot(moved_result(argument, direction, h), cotangent) -
            dot(moved_result(argument, direction, -h), cotangent)) /
           (2 * h);
}

Differences::Outcome Differences::check(std::size_t argument) {
    const BoundTensor& tensor = forward_.at(forward_.arguments[argument]);
    const std::string name = tensor.name;
    if (!is_floating(tensor.dtype)) return Outcome::no_derivative;
    Program adjoint;
    try {
        adjoint = grad::gradient(program_, name);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::gradient) throw;
        return Outcome::no_derivative;
    }
    Signature signature;  // the arguments that the gradient needs, and the cotangent
    std::string cotangent_name;
    for (TensorId id : adjoint.arguments) {
        const std::string& given = adjoint.at(id).name;
        const auto known = signature_.find(given);
        if (known != signature_.end()) {
            signature.emplace(given, known->second);
        } else {
            REQUIRE(cotangent_name.empty());
            cotangent_name = given;
            signature[given].dtype = DType::f64;
            signature[given].shape = value_.shape();
        }
    }
    const BoundProgram bound = ricci::bind(adjoint, signature);
    const auto arguments = random_arguments(bound, signature, seed_);
    Array cotangent = Array::zeros(DType::f64, value_.shape());
    for (std::size_t n = 0; n < arguments.size(); ++n)
        if (bound.at(bound.arguments[n]).name == cotangent_name) cotangent = arguments[n];
    const Array gradient = runtime::evaluate(bound, arguments).back();
    REQUIRE(gradient.shape() == arguments_[argument].shape());

    const Array direction = Array::randn(DType::f64, gradient.shape(), seed_ + 1);
    const double found = dot(gradient, direction);
    const double wide = slope(argument, direction, step, cotangent);
    const double narrow = slope(argument, direction, step / 2, cotangent);
    const double expected = narrow + (narrow - wide) / 3;
    // Errors are seen against the terms that were added up, not against what is left of them.
    const double scale = dot(magnitudes(gradient), magnitudes(direction)) +
                         1e-3 * dot(magnitudes(value_), magnitudes(cotangent));
    if (!(std::abs(wide - narrow) <= disagreement * scale)) return Outcome::kink;
    if (!(std::abs(found - expected) <= tolerance * scale))
        FAIL_CHECK(format("{}\ngradient of {}: {} where differences give {} (scale {})\n{}",
                          program_.source->text, name, found, expected, scale, str(adjoint)));
    return Outcome::agrees;
}

void check_differences(const RandomForms& forms) {
    std::size_t agreed = 0;
    std::size_t kinks = 0;
    std::size_t without = 0;
    const auto check = [&](const RandomProgram& random, const Program& program) {
        if (random.is_large) return;  // each gradient takes four evaluations of the forward
        Differences differences(random, program);
        if (!differences.has_gradients()) return;
        for (std::size_t n = 0; n < differences.arguments(); ++n) {
            const auto outcome = differences.check(n);
            agreed += outcome == Differences::Outcome::agrees ? 1U : 0U;
            kinks += outcome == Differences::Outcome::kink ? 1U : 0U;
            without += outcome == Differences::Outcome::no_derivative ? 1U : 0U;
        }
    };
    for_each_program(program_count(), check, forms);
    MESSAGE(agreed, " gradients compared, ", kinks, " skipped at kinks, ", without,
            " not differentiable");
    CHECK(agreed > (forms.subscripts ? 1 : 3) * (kinks + without));
}

}  // namespace

TEST_CASE("gradients agree with central differences") { check_differences({}); }

TEST_CASE("gradients through gathered and modified subscripts agree with central differences") {
    check_differences({.subscripts = true});
}

}  // namespace ricci::tests
