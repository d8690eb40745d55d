// tests/runtime/tape_test.cpp – composed functions: values, gradients, what is computed
#include "runtime/tape.h"

#include <cmath>

#include <doctest/doctest.h>

#include "runtime/timer.h"
#include "tests/support/error_text.h"

namespace ricci {
namespace {

using tests::error_text;

TEST_CASE("backward gives the gradient of a composed function") {
    const Function square = compile("y[i] := x[i]^2", "square");
    const Function total = compile("s := sum[i](y[i])", "total");
    const Var x = param(Array::from<double>({1, 2, 3}, {3}));
    const Var loss = total(square(x));
    CHECK(loss.value().item() == 14);
    backward(loss);
    CHECK(str(x.grad()) == "[2, 4, 6]");
}

TEST_CASE("gradients through several uses are added") {
    const Function product = compile("z := x*y");
    const Var x = param(Array::full(DType::f64, {}, 3));
    const Var y = product(x, x);     // x^2
    const Var loss = product(y, x);  // x^3
    backward(loss);
    CHECK(x.grad().item() == doctest::Approx(27));
}

TEST_CASE("gradients of several calls of backward are added until cleared") {
    const Function square = compile("y := x^2");
    Var x = param(Array::full(DType::f64, {}, 3));
    backward(square(x));
    backward(square(x));
    CHECK(x.grad().item() == 12);
    x.clear_grad();
    CHECK(x.grad().is_empty_handle());
}

TEST_CASE("equal values share on the tape as the function says") {
    Function largest = compile("m := max[k](x[k])");
    const auto gradient = [&] {
        const Var x = param(Array::full(DType::f64, {4}, 1));
        backward(largest(x));
        return str(x.grad());
    };
    CHECK(gradient() == "[1, 0, 0, 0]");
    largest.set_ties(Ties::even);
    CHECK(gradient() == "[0.25, 0.25, 0.25, 0.25]");
    largest.set_ties(Ties::zero);
    CHECK(gradient() == "[0, 0, 0, 0]");
}

TEST_CASE("only gradients that lead to a parameter are computed") {
    const Function product = compile("z := x*y", "product");
    const Var x = param(Array::full(DType::f64, {}, 3));
    set_timing(true);
    reset_timer();
    backward(product(x, Var(Array::full(DType::f64, {}, 5))));
    const std::string table = timer_table();
    set_timing(false);
    CHECK(x.grad().item() == 5);
    CHECK(table.find("product[0]") != std::string::npos);
    CHECK(table.find("product[1]") == std::string::npos);
}

TEST_CASE("what the gradients need of the forward run is kept") {
    const Function softmax =
        compile("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))");
    const Function pick = compile("s := S[0,0]");
    const Var X = param(Array::from<double>({1, 2, 3}, {1, 3}));
    const Var S = softmax(X);
    backward(pick(S));
    const double p = std::exp(1) / (std::exp(1) + std::exp(2) + std::exp(3));
    CHECK(X.grad().at({0, 0}) == doctest::Approx(p * (1 - p)));
}

TEST_CASE("a gradient written by hand is used in place of the generated one") {
    Function square = compile("y := x^2");
    square.set_gradient("x", [](const Arguments& arguments) {
        CHECK(arguments.size() == 2);
        CHECK(arguments[0].first == "x");
        CHECK(arguments[1].first == "dy");
        return Array::full(DType::f64, {}, 1000);
    });
    const Var x = param(Array::full(DType::f64, {}, 3));
    backward(square(x));
    CHECK(x.grad().item() == 1000);
}

TEST_CASE("a gradient written by hand of the wrong shape is an error") {
    Function square = compile("y := x^2", "square");
    square.set_gradient("x", [](const Arguments&) { return Array::zeros(DType::f64, {2}); });
    const Var x = param(Array::full(DType::f64, {}, 3));
    CHECK(error_text([&] { backward(square(x)); }) ==
          "gradient: the registered gradient of `square` for `x` gave [2] of f64, the argument is "
          "[] of f64");
    CHECK(x.grad().is_empty_handle());
}

TEST_CASE("numbers are constants of the tape") {
    const Function scale = compile("y := a*x");
    const Var x = param(Array::full(DType::f32, {}, 3));
    const Var y = scale(2.0, x);
    CHECK(y.value().dtype() == DType::f32);
    backward(y);
    CHECK(x.grad().item() == 2);
}

TEST_CASE("what cannot be differentiated is told") {
    const Function twice = compile("y[i] := 2*x[i]");
    const Var x = param(Array::from<double>({1, 2}, {2}));
    CHECK(error_text([&] { backward(twice(x)); }) ==
          "shape: a loss is a scalar, this one has shape [2]\n"
          "  = hint: sum it first, as in L := sum[i](Y[i]), or give its cotangent: "
          "backward(y, {.cotangent = dY})");
    CHECK(error_text([&] { backward(Var(Array(1.0))); }) ==
          "gradient: the loss does not depend on a parameter\n"
          "  = hint: param(array)");
    CHECK(error_text([] { (void)param(Array(3)); }) ==
          "gradient: a parameter of type i64 has no gradient\n"
          "  = hint: use f32 or f64");
    const Function add = compile("y[i] += x[i]", "add");
    CHECK(error_text([&] { (void)add(x, x); }) ==
          "gradient: `add` changes its argument `y` in place, which the tape cannot undo\n"
          "  = hint: call it with arrays or under NoGrad, or write the result to a new array with "
          "`:=`");
    const Function total = compile("s := sum[i](x[i])");
    const Var loss = total(x);
    backward(loss);
    CHECK(error_text([&] { backward(loss); }) ==
          "gradient: backward was called before on a part of this loss\n"
          "  = hint: compute the loss again, or keep what it was made of: "
          "backward(loss, {.retain = true})");
}

TEST_CASE("a chain of many calls is taken apart without deep recursion") {
    const Function next = compile("y := x + 1");
    const Var x = param(Array::full(DType::f64, {}, 0));
    Var y = x;
    for (int i = 0; i < 20'000; ++i) y = next(y);
    CHECK(y.value().item() == 20'000);
    backward(y);
    CHECK(x.grad().item() == 1);
    y = x;
    for (int i = 0; i < 20'000; ++i) y = next(y);
    y = Var();
}

}  // namespace
}  // namespace ricci
