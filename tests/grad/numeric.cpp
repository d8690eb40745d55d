// tests/grad/numeric.cpp – derivative programs against central differences of the reference
// evaluator
#include "tests/grad/numeric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/bound.h"
#include "dsl/canonical.h"
#include "grad/jvp.h"
#include "runtime/reference.h"

namespace ricci::tests {

namespace {

std::span<double> values(const Array& array) { return array.span<double>(); }

double inner_product(const Array& a, const Array& b) {
    double total = 0;
    for (std::size_t n = 0; n < values(a).size(); ++n) total += values(a)[n] * values(b)[n];
    return total;
}

/// The largest difference; infinite between arrays of different shapes.
double distance(const Array& a, const Array& b) {
    if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (std::size_t n = 0; n < values(a).size(); ++n) {
        largest = std::max(largest, std::abs(values(a)[n] - values(b)[n]));
    }
    return largest;
}

double magnitude(const Array& a, const Array& b) {
    double total = 0;
    for (std::size_t n = 0; n < values(a).size(); ++n) {
        total += std::abs(values(a)[n] * values(b)[n]);
    }
    return total;
}

/// Checks that forward mode agrees with the gradient along a direction, for this cotangent: both
/// are the same sum of products, in other orders.
void check_tangent(const Program& forward, const std::string& name, const Arrays& arguments,
                   const Array& gradient, const Array& cotangent) {
    const Program program = grad::jvp(forward, {name});
    CAPTURE(str(program));
    Arrays all = arguments;
    const Array direction = uniform(gradient.shape(), -1, 1, 78);
    for (const TensorId id : program.arguments)
        if (!forward.argument(program.at(id).name)) all[program.at(id).name] = direction;
    const Array tangent = evaluate(program, all).begin()->second;
    REQUIRE(tangent.shape() == cotangent.shape());
    const Array parsed = evaluate(parse_program(str(program)), all).begin()->second;
    CHECK_MESSAGE(distance(parsed, tangent) <= 1e-12, "the printed tangent means another");
    const double forwards = inner_product(tangent, cotangent);
    const double backwards = inner_product(direction, gradient);
    const double scale = magnitude(tangent, cotangent) + magnitude(direction, gradient);
    CHECK_MESSAGE(std::abs(forwards - backwards) <= 1e-12 * scale,
                  format("forward mode gives {}, reverse mode {}", forwards, backwards));
}

}  // namespace

Array uniform(const Shape& shape, double low, double high, std::uint64_t seed) {
    Array array = Array::rand(DType::f64, shape, seed);
    for (double& value : values(array)) value = low + (high - low) * value;
    return array;
}

Arrays evaluate(const Program& program, const Arrays& arrays,
                const std::vector<std::string>& outputs) {
    Signature signature;
    for (const TensorId id : program.arguments) {
        const auto found = arrays.find(program.at(id).name);
        REQUIRE_MESSAGE(found != arrays.end(), program.at(id).name);
        ArgumentSpec spec;
        spec.dtype = found->second.dtype();
        spec.shape = found->second.shape();
        signature.emplace(found->first, spec);
    }
    const BoundProgram bound = ricci::bind(canonicalise(program), signature, outputs);
    std::vector<Array> in_order;
    for (const TensorId id : bound.arguments) in_order.push_back(arrays.at(bound.at(id).name));
    const std::vector<Array> found = runtime::evaluate(bound, in_order);
    Arrays result;
    for (std::size_t n = 0; n < found.size(); ++n) {
        result.emplace(bound.at(bound.outputs[n]).name, found[n].to(DType::f64));
    }
    return result;
}

void check_gradients(const std::string& text, const Arrays& arguments) {
    std::vector<std::string> names;
    for (const auto& [name, array] : arguments) names.push_back(name);
    check_gradients(text, arguments, names);
}

void check_gradients(const std::string& text, const Arrays& arguments,
                     const std::vector<std::string>& wanted) {
    CAPTURE(text);
    const Program forward = parse_program(text);
    const std::string output = forward.at(forward.result()).name;
    const auto result = [&](const Arrays& at) { return evaluate(forward, at).at(output); };
    const Array value = result(arguments);
    Arrays all = arguments;
    const Array cotangent = uniform(value.shape(), 0.5, 1.5, 77);
    all.emplace("d" + output, cotangent);
    constexpr double step = 1e-5;
    for (const std::string& name : wanted) {
        CAPTURE(name);
        const Program program = grad::gradient(forward, name);
        CAPTURE(str(program));
        const Array gradient = evaluate(program, all).begin()->second;
        REQUIRE(gradient.shape() == arguments.at(name).shape());
        const Array parsed = evaluate(parse_program(str(program)), all).begin()->second;
        CHECK_MESSAGE(distance(parsed, gradient) <= 1e-12, "the printed gradient means another");
        check_tangent(forward, name, arguments, gradient, cotangent);
        Arrays moved = arguments;
        moved[name] = arguments.at(name).copy();
        for (std::size_t n = 0; n < values(gradient).size(); ++n) {
            CAPTURE(n);
            const double x = values(moved[name])[n];
            values(moved[name])[n] = x + step;
            const Array above = result(moved);
            values(moved[name])[n] = x - step;
            const Array below = result(moved);
            values(moved[name])[n] = x;
            const double expected =
                (inner_product(above, cotangent) - inner_product(below, cotangent)) / (2 * step);
            // Truncation of the third order, and rounding of the sum divided by the step.
            const double tolerance =
                1e-7 * (1 + std::abs(expected)) + 1e-15 * magnitude(value, cotangent) / step;
            const double found = values(gradient)[n];
            CHECK_MESSAGE(std::abs(found - expected) <= tolerance,
                          format("found {}, expected {}", found, expected));
        }
    }
}

}  // namespace ricci::tests
