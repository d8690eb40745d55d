// tests/runtime/compare_test.cpp – gradients written by hand against generated ones
#include "runtime/compare.h"

#include <cmath>
#include <complex>

#include <doctest/doctest.h>

#include "tests/support/error_text.h"

namespace ricci {
namespace {

/// `y[i] := x[i]^2` with a gradient that is off by `error` at element 1.
Function squares(double error) {
    Function f = compile("y[i] := x[i]^2", "squares");
    f.set_gradient("x", [error](const Arguments& arguments) {
        const auto x = arguments[0].second.span<double>();
        const auto dy = arguments[1].second.span<double>();
        Array result = Array::zeros(DType::f64, {static_cast<std::int64_t>(x.size())});
        for (std::size_t i = 0; i < x.size(); ++i) result.span<double>()[i] = 2 * x[i] * dy[i];
        result.span<double>()[1] *= 1 + error;
        return result;
    });
    return f;
}

TEST_CASE("equal gradients have no difference") {
    const auto comparison =
        compare_gradients(squares(0), {{"x", Array::randn(DType::f64, {5})}}, "x");
    CHECK(comparison.largest_difference < 1e-15);
    CHECK(comparison.generated_seconds > 0);
    CHECK(comparison.registered_seconds > 0);
}

TEST_CASE("the largest difference is found with its place and values") {
    const Array ones = Array::full(DType::f64, {5}, 1);
    const auto comparison = compare_gradients(squares(0.5), {{"x", ones}, {"dy", ones}}, "x");
    CHECK(comparison.position == std::vector<std::int64_t>{1});
    CHECK(comparison.generated == 2.0);
    CHECK(comparison.registered == 3.0);
    CHECK(comparison.largest_difference == doctest::Approx(1.0 / 3));
    CHECK(str(comparison).starts_with("x: largest relative difference 0.33 at [1], generated "));
}

TEST_CASE("complex gradients are compared as complex numbers") {
    using Number = std::complex<double>;
    const Array z = Array::from<Number>({{1, 2}, {0, -1}, {3, 0}}, {3});
    const Array w = Array::from<Number>({{2, 0}, {1, 1}, {0, 1}}, {3});
    const Arguments arguments = {{"w", w}, {"z", z}};
    Function f = compile("y[i] := w[i]*z[i]", "product");
    f.set_gradient("z", compile("dz[i] := dy[i]*conj(w[i])"));
    CHECK(compare_gradients(f, arguments, "z").largest_difference == 0);
    const Array ones = Array::from<Number>({1, 1, 1}, {3});
    f.set_gradient("z", compile("dz[i] := dy[i]*w[i]"));
    const auto comparison = compare_gradients(f, {{"w", w}, {"z", z}, {"dy", ones}}, "z");
    // Of 2, 1-i and -i against 2, 1+i and i the scale is sqrt(7/3).
    CHECK(comparison.position == std::vector<std::int64_t>{1});
    CHECK(comparison.generated == Number(1, -1));
    CHECK(comparison.registered == Number(1, 1));
    CHECK(comparison.largest_difference == doctest::Approx(2 / std::sqrt(7.0 / 3)));
}

TEST_CASE("a comparison without a registered gradient is an error") {
    const Function f = compile("y[i] := x[i]^2", "squares");
    CHECK(tests::error_text(
              [&] { (void)compare_gradients(f, {{"x", Array::zeros(DType::f64, {1})}}, "x"); }) ==
          "name: no gradient of `squares` is registered for `x`\n"
          "  = hint: set_gradient(\"x\", ...)");
}

}  // namespace
}  // namespace ricci
