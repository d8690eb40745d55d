// tests/runtime/compare_test.cpp – gradients written by hand against generated ones
#include "runtime/compare.h"

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
    CHECK(comparison.generated == 2);
    CHECK(comparison.registered == 3);
    CHECK(comparison.largest_difference == doctest::Approx(1.0 / 3));
    CHECK(str(comparison).starts_with("x: largest relative difference 0.33 at [1], generated "));
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
