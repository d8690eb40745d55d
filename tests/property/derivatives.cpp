// tests/property/derivatives.cpp – derivatives of random programs in f64, on the reference
// evaluator
#include "tests/property/derivatives.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "grad/gradient.h"
#include "grad/jvp.h"
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

// Forward and reverse mode are the same sum in other orders. What a program converts to f32 is
// rounded in both, at other places.
constexpr double dual_tolerance = 1e-9;
constexpr double dual_tolerance_f32 = 1e-6;

Signature in_f64(Signature signature) {
    for (auto& [name, spec] : signature)
        if (is_floating(spec.dtype)) spec.dtype = DType::f64;
    return signature;
}

/// The derivative that `make` makes; nothing where the language has none.
template <class Make>
std::optional<Program> derived(Make make) {
    try {
        return make();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::gradient) throw;
        return std::nullopt;
    }
}

constexpr double most_points = 3e6;

/// A sum over elements of f64 arrays of one shape.
template <class Term>
double total(const Array& a, const Array& b, Term term) {
    REQUIRE(a.shape() == b.shape());
    double sum = 0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(a.size()); ++n)
        sum += term(a.span<double>()[n] * b.span<double>()[n]);
    return sum;
}

}  // namespace

double dot(const Array& a, const Array& b) {
    return total(a, b, [](double term) { return term; });
}
double magnitude(const Array& a, const Array& b) {
    return total(a, b, [](double term) { return std::abs(term); });
}

Differentiable::Differentiable(const RandomProgram& random, const Program& program)
    : seed_(random.seed),
      program_(program),
      signature_(in_f64(random.signature)),
      result_name_(program.at(program.result()).name),
      forward_(ricci::bind(program, signature_, {result_name_})),
      arguments_(random_arguments(forward_, signature_, seed_)),
      value_(runtime::evaluate(forward_, arguments_).back()) {}

std::vector<std::size_t> Differentiable::wanted() const {
    std::vector<std::size_t> found;
    // Counts and sums of indices have no gradients.
    if (value_.dtype() != DType::f64) return found;
    for (std::size_t n = 0; n < arguments_.size(); ++n)
        if (is_floating(forward_.at(forward_.arguments[n]).dtype)) found.push_back(n);
    return found;
}

Array Differentiable::moved_result(std::size_t argument, const Array& direction, double h) const {
    std::vector<Array> arguments = arguments_;
    arguments[argument] = arguments_[argument].to(DType::f64).copy();
    for (std::size_t n = 0; n < static_cast<std::size_t>(direction.size()); ++n)
        arguments[argument].span<double>()[n] += h * direction.span<double>()[n];
    return runtime::evaluate(forward_, arguments).back();
}

std::optional<Array> Differentiable::Derivative::argument(const std::string& name) const {
    for (std::size_t n = 0; n < arguments.size(); ++n)
        if (bound.at(bound.arguments[n]).name == name) return arguments[n].to(DType::f64);
    return std::nullopt;
}

std::optional<Array> Differentiable::Derivative::given(const Program& forward) const {
    for (const TensorId id : program.arguments)
        if (!forward.argument(program.at(id).name)) return argument(program.at(id).name);
    return std::nullopt;
}

std::optional<Array> Differentiable::Derivative::companion(const std::string& of,
                                                           const Program& forward) const {
    for (const TensorId id : program.arguments) {
        const Tensor& tensor = program.at(id);
        if (!forward.argument(tensor.name) && tensor.dtype_of &&
            program.at(*tensor.dtype_of).name == of)
            return argument(tensor.name);
    }
    return std::nullopt;
}

/// What is no argument of the forward has the shape of what it belongs to.
Differentiable::Derivative Differentiable::evaluated(Program derivative) const {
    Derivative result{.program = std::move(derivative),
                      .signature = {},
                      .bound = {},
                      .is_long = false,
                      .arguments = {},
                      .value = value_};
    for (const TensorId id : result.program.arguments) {
        const Tensor& tensor = result.program.at(id);
        const auto known = signature_.find(tensor.name);
        if (known != signature_.end()) {
            result.signature.emplace(tensor.name, known->second);
            continue;
        }
        const std::string& of = result.program.at(tensor.dtype_of.value()).name;
        const auto belongs = signature_.find(of);
        ArgumentSpec& spec = result.signature[tensor.name];
        spec.dtype = DType::f64;
        spec.shape = program_.argument(of) && belongs != signature_.end() ? belongs->second.shape
                                                                          : value_.shape();
    }
    result.bound = ricci::bind(result.program, result.signature);
    result.is_long = points(result.bound) > most_points;
    if (result.is_long) return result;
    result.arguments = random_arguments(result.bound, result.signature, seed_);
    result.value = runtime::evaluate(result.bound, result.arguments).back().to(DType::f64);
    return result;
}

std::optional<Differentiable::Derivative> Differentiable::gradient(std::size_t argument) const {
    std::optional<Program> adjoint =
        derived([&] { return grad::gradient(program_, name(argument), {.ties = ties_}); });
    if (!adjoint) return std::nullopt;
    Derivative found = evaluated(std::move(*adjoint));
    if (!found.is_long) REQUIRE(found.value.shape() == arguments_[argument].shape());
    return found;
}

std::optional<Differentiable::Derivative> Differentiable::tangent(
    const std::vector<std::size_t>& moved) const {
    std::vector<std::string> names;
    for (const std::size_t argument : moved) names.push_back(name(argument));
    std::optional<Program> found =
        derived([&] { return grad::jvp(program_, names, {.ties = ties_}); });
    if (!found) return std::nullopt;
    Derivative result = evaluated(std::move(*found));
    if (!result.is_long) REQUIRE(result.value.shape() == value_.shape());
    return result;
}

Outcome check_differences(const Differentiable& what, std::size_t argument) {
    const auto gradient = what.gradient(argument);
    if (!gradient) return Outcome::no_derivative;
    if (gradient->is_long) return Outcome::is_long;
    const Array cotangent =
        gradient->given(what.program()).value_or(Array::zeros(DType::f64, what.value().shape()));
    const Array direction = Array::randn(DType::f64, gradient->value.shape(), what.seed() + 1);
    const auto slope = [&](double h) {
        return (dot(what.moved_result(argument, direction, h), cotangent) -
                dot(what.moved_result(argument, direction, -h), cotangent)) /
               (2 * h);
    };
    const double found = dot(gradient->value, direction);
    const double wide = slope(step);
    const double narrow = slope(step / 2);
    const double expected = narrow + (narrow - wide) / 3;
    // Errors are seen against the terms that were added up, not against what is left of them.
    const double scale =
        magnitude(gradient->value, direction) + 1e-3 * magnitude(what.value(), cotangent);
    if (!(std::abs(wide - narrow) <= disagreement * scale)) return Outcome::kink;
    if (!(std::abs(found - expected) <= tolerance * scale))
        FAIL_CHECK(format("{}\ngradient of {}: {} where differences give {} (scale {})\n{}",
                          str(what.program()), what.name(argument), found, expected, scale,
                          str(gradient->program)));
    return Outcome::agrees;
}

DualityCount& DualityCount::operator+=(const DualityCount& other) {
    agreed += other.agreed;
    infinite += other.infinite;
    without += other.without;
    long_ones += other.long_ones;
    worst = std::max(worst, other.worst);
    return *this;
}

namespace {

/// By how much rounding may change the product of a derivative's value with an array.
double rounding_of(const Differentiable::Derivative& derivative, const Array& factor) {
    const auto estimates = runtime::evaluate_with_bounds(derivative.bound, derivative.arguments);
    return 4 * magnitude(estimates.back().bound, factor);
}

/// `<cotangent, J direction> = <J^T cotangent, direction>`, where the right side is the sum of
/// those of several arguments.
struct Duals {
    const Differentiable& what;
    const Differentiable::Derivative& tangent;
    const Array& cotangent;
    std::vector<const Differentiable::Derivative*> gradients;
    std::vector<Array> directions;

    [[nodiscard]] DualityCount compare() const {
        const double forwards = dot(cotangent, tangent.value);
        double backwards = 0;
        double scale = magnitude(cotangent, tangent.value);
        for (std::size_t n = 0; n < gradients.size(); ++n) {
            backwards += dot(gradients[n]->value, directions[n]);
            scale += magnitude(gradients[n]->value, directions[n]);
        }
        if (!std::isfinite(scale)) return {.infinite = 1};
        const double error = std::abs(forwards - backwards);
        if (error <= dual_tolerance * scale)
            return {.agreed = 1, .worst = error > 0 && !converts() ? error / scale : 0};
        if (converts() && error <= dual_tolerance_f32 * scale) return {.agreed = 1};
        // What cancels inside of them can leave less than its own rounding errors.
        const double bound = rounding();
        if (!std::isfinite(bound)) return {.infinite = 1};
        if (error <= bound) return {.agreed = 1};
        FAIL_CHECK(format("seed {}\n{}\nforward mode gives {}, reverse mode {} (scale {})\n{}",
                          what.seed(), str(what.program()), forwards, backwards, scale,
                          str(tangent.program)));
        return {};
    }

  private:
    [[nodiscard]] bool converts() const {
        return str(what.program()).find("f32(") != std::string::npos;
    }
    [[nodiscard]] double rounding() const {
        double bound = rounding_of(tangent, cotangent);
        for (std::size_t n = 0; n < gradients.size(); ++n)
            bound += rounding_of(*gradients[n], directions[n]);
        return bound;
    }
};

}  // namespace

DualityCount check_duality(const Differentiable& what) {
    DualityCount count;
    std::vector<std::size_t> moved;
    std::optional<Array> cotangent;
    std::vector<Differentiable::Derivative> gradients;
    for (const std::size_t argument : what.wanted()) {
        const auto gradient = what.gradient(argument);
        const auto tangent = what.tangent({argument});
        CHECK_MESSAGE(gradient.has_value() == tangent.has_value(),
                      format("seed {}\n{}\nonly one mode has the derivative by {}", what.seed(),
                             str(what.program()), what.name(argument)));
        if (!gradient || !tangent) {
            ++count.without;
            continue;
        }
        if (gradient->is_long || tangent->is_long) {
            ++count.long_ones;
            continue;
        }
        const auto given = gradient->given(what.program());
        if (given) cotangent = given;
        const Array up = given.value_or(Array::zeros(DType::f64, what.value().shape()));
        const Array direction = tangent->given(what.program())
                                    .value_or(Array::zeros(DType::f64, gradient->value.shape()));
        count += Duals{what, *tangent, up, {&*gradient}, {direction}}.compare();
        moved.push_back(argument);
        gradients.push_back(*gradient);
    }
    if (moved.size() < 2 || !cotangent) return count;
    const auto tangent = what.tangent(moved);
    REQUIRE(tangent.has_value());
    if (tangent->is_long) return count;
    Duals all{what, *tangent, *cotangent, {}, {}};
    for (std::size_t n = 0; n < moved.size(); ++n) {
        const auto direction = tangent->companion(what.name(moved[n]), what.program());
        if (!direction) continue;
        all.gradients.push_back(&gradients[n]);
        all.directions.push_back(*direction);
    }
    count += all.compare();
    return count;
}

}  // namespace ricci::tests
