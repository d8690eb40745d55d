// tests/runtime/scalar_function_test.cpp – functions of numbers that a user adds to the language
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_text.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

double bessel(double x) { return std::cyl_bessel_j(0, std::abs(x)); }
double bessel1(double x) { return std::copysign(std::cyl_bessel_j(1, std::abs(x)), x); }
double volume(double x, double y, double z) { return x * y * y * z; }
double steps(double x) { return std::floor(2 * x); }

/// As every program of these tests needs them.
void register_all() {
    register_function(
        {.name = "bessel", .value = &bessel, .derivatives = {"-bessel1(x)"}, .cuda = "j0(x)"});
    register_function({.name = "bessel1",
                       .value = &bessel1,
                       .derivatives = {"x == 0 ? 0.5 : bessel(x) - bessel1(x)/x"},
                       .cuda = "j1(x)"});
    register_function(
        {.name = "volume", .value = &volume, .derivatives = {"y^2*z", "2*x*y*z", "x*y^2"}});
    register_function({.name = "steps", .value = &steps});
}

std::string error_of(ScalarFunction function) {
    return error_text([&] { register_function(std::move(function)); });
}

TEST_CASE("a registered function is applied to every element, compiled and by the reference") {
    register_all();
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Array X = Array::randn(dtype, {37, 5}, 1);
        const Array found = compile("Y[i,j] := bessel(X[i,j])*2")({{"X", X}});
        const Array expected =
            compile("Y[i,j] := bessel(X[i,j])*2", "f", Device::reference)({{"X", X}});
        REQUIRE(found.dtype() == dtype);
        for (std::int64_t n = 0; n < 37 * 5; ++n) {
            const double x = X.to(DType::f64).span<double>()[std::size_t(n)];
            const double y = found.to(DType::f64).span<double>()[std::size_t(n)];
            CHECK(y == doctest::Approx(2 * bessel(x)).epsilon(dtype == DType::f32 ? 1e-6 : 1e-14));
        }
        CHECK(str(found) == str(expected));
    }
    CHECK(str(compile("y := volume(2, a, 1)")({{"a", Array(3.0)}})) == "18");
}

TEST_CASE("gradients of registered functions are programs of registered functions") {
    register_all();
    const auto gradient = [](const std::string& text) {
        return str(compile(text).grad("x").program());
    };
    CHECK(gradient("y[i] := bessel(3*x[i])") == "dx[i] := -(dy[i]*bessel1(3*x[i])*3)");
    CHECK(gradient("y[i] := volume(x[i], 2, x[i])") == "dx[i] := dy[i]*2^2*x[i] + dy[i]*x[i]*2^2");
    const std::string text = "y[i] := bessel1(x[i])*volume(x[i], 2, x[i] + 1)";
    const auto value = [](double x) { return bessel1(x) * volume(x, 2, x + 1); };
    const std::vector<double> places = {0.5, -1.25, 0.001};
    const Array x = Array::from<double>(places, {3});
    const Array found =
        compile(text).grad("x")({{"x", x}, {"dy", Array::full(DType::f64, {3}, 1)}});
    for (std::size_t n = 0; n < places.size(); ++n) {
        const double step = 1e-5;
        const double slope = (value(places[n] + step) - value(places[n] - step)) / (2 * step);
        CHECK(found.span<double>()[n] == doctest::Approx(slope).epsilon(1e-8));
    }
}

TEST_CASE("a function without derivative has no gradient, and says so") {
    register_all();
    CHECK(error_text([] { (void)compile("y[i] := steps(x[i])").grad("x"); }) ==
          "gradient: `steps` was registered without derivatives\n"
          "  | y[i] := steps(x[i])\n"
          "  | ^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: ask only for gradients of arguments that do not pass through it");
}

TEST_CASE("what cannot be registered is refused") {
    register_all();
    register_all();  // the same once more changes nothing
    CHECK(error_of({.name = "bessel", .value = &steps}) ==
          "name: the function `bessel` is registered already\n"
          "  = hint: choose another name");
    CHECK(error_of({.name = "exp", .value = &bessel}) ==
          "name: `exp` has a meaning in the language\n"
          "  = hint: choose another name");
    CHECK(error_of({.name = "sum", .value = &bessel}) ==
          "name: `sum` has a meaning in the language\n"
          "  = hint: choose another name");
    CHECK(error_of({.name = "pi", .value = &bessel}) ==
          "name: `pi` has a meaning in the language\n"
          "  = hint: choose another name");
    CHECK(error_of({.name = "f32", .value = &bessel}) ==
          "name: `f32` has a meaning in the language\n"
          "  = hint: choose another name");
    CHECK(error_of({.name = "2x", .value = &bessel}) ==
          "name: `2x` is no name of a function\n"
          "  = hint: use letters, digits and `_`, a letter first");
    CHECK(error_of({.name = "", .value = &bessel}) ==
          "name: `` is no name of a function\n"
          "  = hint: use letters, digits and `_`, a letter first");
    CHECK(error_of({.name = "g1", .value = static_cast<ScalarFunction::Unary>(nullptr)}) ==
          "type: `g1` has no value\n"
          "  = hint: give the address of a function of doubles");
    CHECK(error_of({.name = "g2", .value = &volume, .derivatives = {"y"}}) ==
          "type: `g2` has 3 operands and 1 derivative\n"
          "  = hint: give the derivative by each operand, or none");
    CHECK(error_of({.name = "g3", .value = &bessel, .derivatives = {"x +"}}) ==
          "syntax: expected an expression, found the end of the program\n"
          "  | d := x +\n"
          "  |         ^\n"
          "  = hint: write a number, a name, `A[i]`, `f(x)` or `sum[k](x)`");
    CHECK(error_of({.name = "g4", .value = &bessel, .derivatives = {"y"}}) ==
          "name: the derivative of `g4` reads `y`\n"
          "  = hint: its operands are called x");
    CHECK(error_of({.name = "g5", .value = &bessel, .derivatives = {"x[i]"}}) ==
          "syntax: the derivative `x[i]` of `g5` is no term of its operands\n"
          "  = hint: write it without reducers and indices");
    CHECK(error_of({.name = "g6", .value = &bessel, .derivatives = {"x; e := x"}}) ==
          "syntax: the derivative `x; e := x` of `g6` is no term of its operands\n"
          "  = hint: write it without reducers and indices");
    CHECK(error_of({.name = "g7", .value = &bessel, .derivatives = {"sum[i in 0:3](x*i)"}}) ==
          "syntax: the derivative `sum[i in 0:3](x*i)` of `g7` is no term of its operands\n"
          "  = hint: write it without reducers and indices");
    CHECK(error_text([] { (void)compile("y[i] := bessle(x[i])"); }) ==
          "name: there is no function `bessle`\n"
          "  | y[i] := bessle(x[i])\n"
          "  |         ^^^^^^\n"
          "  = hint: did you mean `bessel`?");
    CHECK(error_text([] { (void)compile("y[i] := bessel(x[i], 2)"); }) ==
          "syntax: `bessel` takes 1 argument, not 2\n"
          "  | y[i] := bessel(x[i], 2)\n"
          "  |         ^^^^^^\n"
          "  = hint: write `bessel(x)`");
    CHECK(error_text([] {
              (void)compile("y[i] := bessel(x[i])")({{"x", Array::zeros(DType::c128, {2})}});
          }) ==
          "type: `bessel` is not defined for complex numbers\n"
          "  | y[i] := bessel(x[i])\n"
          "  |         ^^^^^^^^^^^^\n"
          "  = hint: take a part: `real(…)`, `imag(…)`, `abs(…)`");
}

}  // namespace
}  // namespace ricci::tests
