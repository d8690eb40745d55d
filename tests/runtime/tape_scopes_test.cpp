// tests/runtime/tape_scopes_test.cpp – what is recorded, kept, weighted; operations written in C++
#include <doctest/doctest.h>

#include "runtime/tape.h"
#include "runtime/timer.h"
#include "tests/support/error_text.h"

namespace ricci {
namespace {

using tests::error_text;

Array number(double value) { return Array::full(DType::f64, {}, value); }

TEST_CASE("nothing is recorded under NoGrad, in this thread and scope alone") {
    const Function square = compile("y := x^2");
    const Var x = param(number(3));
    {
        const NoGrad outer;
        {
            const NoGrad inner;
            CHECK(!square(x).requires_grad());
        }
        const Var y = square(x);
        CHECK(y.value().item() == 9);
        CHECK(!y.requires_grad());
    }
    CHECK(square(x).requires_grad());
}

TEST_CASE("a parameter is updated in place under NoGrad") {
    const Function step = compile("w[i] -= rate*d[i]", "step");
    const Var w = param(Array::from<double>({1, 2}, {2}));
    const Var d = Array::from<double>({2, 4}, {2});
    {
        const NoGrad scope;
        CHECK(!step(w, 0.5, d).requires_grad());
    }
    CHECK(str(w.value()) == "[0, 0]");
    CHECK(error_text([&] { (void)step(w, 0.5, d); }) ==
          "gradient: `step` changes its argument `w` in place, which the tape cannot undo\n"
          "  = hint: call it with arrays or under NoGrad, or write the result to a new array with "
          "`:=`");
}

TEST_CASE("a detached variable is a constant") {
    const Function product = compile("z := x*y");
    const Var x = param(number(3));
    backward(product(x, x.detach()));
    CHECK(x.grad().item() == 3);
    CHECK(error_text([&] { backward(x.detach()); }) ==
          "gradient: the loss does not depend on a parameter\n"
          "  = hint: param(array)");
}

TEST_CASE("a graph that is retained is walked again, and released when it is not") {
    const Function square = compile("y := x^2");
    Var x = param(number(3));
    const Var y = square(square(x));  // x^4
    backward(y, {.retain = true});
    CHECK(x.grad().item() == 108);
    backward(y, {.retain = true});
    CHECK(x.grad().item() == 216);
    x.clear_grad();
    backward(y);
    CHECK(x.grad().item() == 108);
    CHECK(error_text([&] { backward(y); }) ==
          "gradient: backward was called before on a part of this loss\n"
          "  = hint: compute the loss again, or keep what it was made of: "
          "backward(loss, {.retain = true})");
    CHECK(x.grad().item() == 108);
}

TEST_CASE("two losses that share a part need it retained") {
    const Function square = compile("y := x^2");
    const Var x = param(number(3));
    const Var shared = square(x);
    const Var a = square(shared);
    const Var b = square(shared);
    backward(a, {.retain = true});
    backward(b);
    CHECK(x.grad().item() == 216);
}

TEST_CASE("a recorded call keeps the values it was made from") {
    const Function square = compile("y := x^2");
    Var x = param(number(3));
    const Var y = square(x);
    x.set_value(number(100));
    backward(y);
    CHECK(x.grad().item() == 6);
}

TEST_CASE("backward of an array weights it with the cotangent") {
    const Function square = compile("y[i] := x[i]^2");
    const Var x = param(Array::from<float>({1, 2, 3}, {3}));
    backward(square(x), {.cotangent = Array::from<float>({1, 10, 100}, {3})});
    CHECK(str(x.grad()) == "[  2,  40, 600]");
    const Function total = compile("s := sum[i](x[i])");
    const Var y = param(Array::from<float>({1, 2, 3}, {3}));
    backward(total(y), {.cotangent = 4.0});
    CHECK(str(y.grad()) == "[4, 4, 4]");
}

TEST_CASE("a cotangent that does not fit is told, and changes nothing") {
    const Function square = compile("y[i] := x[i]^2");
    const Var x = param(Array::from<float>({1, 2, 3}, {3}));
    const Var y = square(x);
    CHECK(error_text([&] { backward(y); }) ==
          "shape: a loss is a scalar, this one has shape [3]\n"
          "  = hint: sum it first, as in L := sum[i](Y[i]), or give its cotangent: "
          "backward(y, {.cotangent = dY})");
    CHECK(error_text([&] { backward(y, {.cotangent = Array::zeros(DType::f32, {2})}); }) ==
          "shape: the cotangent has shape [2], the value [3]\n"
          "  = hint: give an array of shape [3]");
    CHECK(error_text([&] { backward(y, {.cotangent = Array::zeros(DType::f64, {3})}); }) ==
          "type: the cotangent has type f64, the value f32\n"
          "  = hint: convert it: cotangent.to(DType::f32)");
    CHECK(x.grad().is_empty_handle());
    backward(y, {.cotangent = Array::full(DType::f32, {3}, 1)});
    CHECK(str(x.grad()) == "[2, 4, 6]");
}

TEST_CASE("a gradient program written by hand is used in place of the generated one") {
    Function linear = compile("Y[n,o] := W[o,k]*X[n,k]", "linear");
    linear.set_gradient("W", compile("dW[o,k] := 1000*dY[n,o]*X[n,k]", "by_hand"));
    const Var W = param(Array::full(DType::f32, {1, 2}, 1));
    const Var X = param(Array::from<float>({1, 2}, {1, 2}));
    set_timing(true);
    reset_timer();
    backward(linear(W, X), {.cotangent = Array::full(DType::f32, {1, 1}, 1)});
    const std::string table = timer_table();
    set_timing(false);
    CHECK(str(W.grad()) == "[[1000, 2000]]");
    CHECK(str(X.grad()) == "[[1, 1]]");
    CHECK(table.find("by_hand") != std::string::npos);
    CHECK(error_text([&] { linear.set_gradient("W", compile("dW[o,k] := dY[n,o]*Z[n,k]")); }) ==
          "name: the gradient of `linear` for `W` takes `Z`\n"
          "  | dW[o,k] := dY[n,o]*Z[n,k]\n"
          "  |                    ^\n"
          "  = hint: it may take `W`, `X`, `dY`");
}

/// `sum(x*y)` with gradients, some of them wrong.
TapeOperation dot(std::function<std::vector<Array>(const Array&, const Array&, double)> gradients) {
    return {.name = "dot",
            .value =
                [](const std::vector<Array>& given) {
                    double sum = 0;
                    for (std::size_t i = 0; i < given[0].span<const double>().size(); ++i)
                        sum += given[0].span<const double>()[i] * given[1].span<const double>()[i];
                    return Array::full(DType::f64, {}, sum);
                },
            .gradients =
                [gradients](const std::vector<Array>& given, const Array& result,
                            const Array& cotangent) {
                    CHECK(result.rank() == 0);
                    return gradients(given[0], given[1], cotangent.item());
                }};
}

Array scaled(const Array& array, double factor) {
    Array result = array.copy();
    for (double& value : result.span<double>()) value *= factor;
    return result;
}

TEST_CASE("an operation written in C++ has its place among functions") {
    const TapeOperation product =
        dot([](const Array& x, const Array& y, double d) -> std::vector<Array> {
            return {scaled(y, d), scaled(x, d)};
        });
    const Function square = compile("y := x^2");
    const Var x = param(Array::from<double>({1, 2}, {2}));
    const Var y = param(Array::from<double>({3, 4}, {2}));
    const Var z = square(apply(product, {x, y}));
    CHECK(z.value().item() == 121);
    backward(z);
    CHECK(str(x.grad()) == "[66, 88]");
    CHECK(str(y.grad()) == "[22, 44]");
}

TEST_CASE("gradients of an operation written in C++ that do not fit are told") {
    const Var x = param(Array::from<double>({1, 2}, {2}));
    const TapeOperation one =
        dot([](const Array& a, const Array&, double) { return std::vector<Array>{a}; });
    CHECK(error_text([&] { backward(apply(one, {x, x})); }) ==
          "gradient: `dot` gave 1 gradient for 2 arguments\n"
          "  = hint: give an empty Array for an argument without one");
    const TapeOperation other = dot([](const Array&, const Array& b, double) {
        return std::vector<Array>{Array::zeros(DType::f32, {3}), b};
    });
    CHECK(error_text([&] { backward(apply(other, {x, x})); }) ==
          "gradient: the gradient of `dot` for argument 0 is [3] of f32, the argument is [2] of "
          "f64");
    CHECK(x.grad().is_empty_handle());
    // One without a gradient stops the walk there.
    const TapeOperation half =
        dot([](const Array&, const Array& b, double) { return std::vector<Array>{Array(), b}; });
    backward(apply(half, {x, x}));
    CHECK(str(x.grad()) == "[1, 2]");
}

}  // namespace
}  // namespace ricci
