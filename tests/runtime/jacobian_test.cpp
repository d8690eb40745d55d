// tests/runtime/jacobian_test.cpp – tangents as functions, Jacobians, products with Hessians
#include "runtime/jacobian.h"

#include <doctest/doctest.h>

#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

Array doubles(std::initializer_list<double> values, Shape shape) {
    return Array::from(values, std::move(shape));
}

void check_values(const Array& found, const Array& expected) {
    REQUIRE(found.shape() == expected.shape());
    REQUIRE(found.dtype() == expected.dtype());
    const Array a = found.to(DType::f64);
    const Array b = expected.to(DType::f64);
    for (std::size_t n = 0; n < a.span<double>().size(); ++n)
        CHECK(a.span<double>()[n] == doctest::Approx(b.span<double>()[n]).epsilon(1e-6));
}

}  // namespace

TEST_CASE("a tangent is a function that accepts the forward's arguments too") {
    const Function f = compile("Y[i] := A[i]*B[i]^2 + C[i]");
    const Function tangent = f.jvp({"A", "B"});
    CHECK(str(tangent) == "dY[i] := dA[i]*B[i]^2 + 2*B[i]*dB[i]*A[i]");
    CHECK(tangent.name() == "dY[0,1]");
    const Array a = doubles({1, 2}, {2});
    const Array b = doubles({3, 4}, {2});
    const Array one = doubles({1, 1}, {2});
    check_values(tangent({{"A", a}, {"B", b}, {"C", a}, {"dA", one}, {"dB", b}}),
                 doubles({27, 80}, {2}));
    check_values(f.jvp({"C"})({{"A", a}, {"B", b}, {"C", a}, {"dC", b}}), b);
}

TEST_CASE("tangents of outputs asked for by name") {
    const Function tangent = compile("Y[i] := A[i]^2; Z[i] := 3*Y[i]").jvp({"A"}, {"Y", "Z"});
    const Array a = doubles({1, 2}, {2});
    const auto found = tangent.call({{"A", a}, {"dA", a}}, {"dZ", "dY"});
    check_values(found.at(0), doubles({6, 24}, {2}));
    check_values(found.at(1), doubles({2, 8}, {2}));
}

TEST_CASE("a tangent of an updated array is updated, the array is not") {
    const Function f = compile("B[i] *= s[i]");
    const Array b = doubles({1, 2}, {2});
    const Array s = doubles({5, 7}, {2});
    const Array db = doubles({1, 1}, {2});
    (void)f.jvp({"B", "s"})({{"B", b}, {"s", s}, {"dB", db}, {"ds", s}});
    check_values(db, doubles({10, 21}, {2}));
    check_values(b, doubles({1, 2}, {2}));
}

TEST_CASE("tangents of functions of any rank") {
    const Function tangent = compile("Y[..,o] := W[o,k]*X[..,k]").jvp({"W"});
    const Array w = doubles({1, 2}, {1, 2});
    check_values(tangent({{"X", doubles({3, 4}, {2})}, {"dW", w}}), doubles({11}, {1}));
    check_values(tangent({{"X", doubles({3, 4}, {1, 1, 2})}, {"dW", w}}), doubles({11}, {1, 1, 1}));
}

TEST_CASE("wrong tangents are errors") {
    const Function f = compile("Y[i] := A[i]*A[i]");
    const Array a = doubles({1, 2}, {2});
    CHECK(error_text([&] { (void)f.jvp({"a"}); }) ==
          "name: `Y` has no argument `a`\n  = hint: did you mean `A`?");
    CHECK(
        error_text([&] { (void)f.jvp({}); }) ==
        "name: no argument moves\n  = hint: name those whose tangents are given: `f.jvp({\"W\"})`");
    CHECK(error_text([&] {
              (void)f.jvp({"A"})({{"A", a}, {"dA", doubles({1}, {1})}});
          }).starts_with("shape: "));
    CHECK(error_text([&] {
              (void)f.jvp({"A"})({{"A", a}, {"dA", Array::from<std::int64_t>({1, 2}, {2})}});
          }) ==
          "gradient: the argument `dA` has type i64, which has no gradient\n"
          "  = hint: convert it to f32 or f64");
}

TEST_CASE("what a tangent no longer takes has no shape in its errors") {
    const Function f = compile(
        "W[h,q,k] := Q[h,q,d]*K[h,k,d]\n"
        "P[h,q,k] := exp(W[h,q,k] - max[l](W[-h,q,l])) / sum[l](exp(W[h,q,l]))\n"
        "O[h,q,d] := P[h,q,k]*V[h,k,d]");
    const Array q = Array::rand(DType::f64, {1, 3, 4});
    CHECK(error_text([&] {
              (void)f.jvp({"V"})({{"Q", q}, {"K", q}, {"dV", Array::rand(DType::f64, {2, 3, 4})}});
          }) ==
          "shape: index `h` has two extents, 1 and 2\n"
          "3 | O[h,q,d] := P[h,q,k]*V[h,k,d]\n"
          "  |               ^        ~\n"
          "  |               |        2 here: dimension 0 of V\n"
          "  |               1 here: dimension 0 of P [1, 3, 3]\n"
          "  = hint: slice one operand, or give the two dimensions different index names");
}

TEST_CASE("a Jacobian has the result's dimensions, then the argument's") {
    const Array x = doubles({1, 2, 3}, {3});
    const Array w = doubles({1, 2, 3, 4, 5, 6}, {2, 3});
    check_values(jacobian(compile("y[i] := W[i,k]*x[k]"), "x", {{"W", w}, {"x", x}}), w);
    check_values(jacobian(compile("y[i] := W[i,k]*x[k]"), "W", {{"W", w}, {"x", x}}),
                 doubles({1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 2, 3}, {2, 2, 3}));
    check_values(jacobian(compile("y[i] := a*x[i]^2"), "a",
                          {{"a", Array::full(DType::f64, {}, 2)}, {"x", x}}),
                 doubles({1, 4, 9}, {3}));
    check_values(
        jacobian(compile("y := a*x[i]^2"), "x", {{"a", Array::full(DType::f64, {}, 2)}, {"x", x}}),
        doubles({4, 8, 12}, {3}));
    check_values(jacobian(compile("y[i,j] := x[i]*x[j]"), "x", {{"x", doubles({2, 3}, {2})}}),
                 doubles({4, 0, 3, 2, 3, 2, 0, 6}, {2, 2, 2}));
    check_values(jacobian(compile("y[i] := 7*x[0] where i in 0:2"), "x", {{"x", x.to(DType::f32)}}),
                 doubles({7, 0, 0, 7, 0, 0}, {2, 3}).to(DType::f32));
}

TEST_CASE("a Jacobian of an update leaves the array as it was") {
    const Array b = doubles({1, 2}, {2});
    const Array s = doubles({5, 7}, {2});
    const Function f = compile("B[i] *= s[i]");
    check_values(jacobian(f, "B", {{"B", b}, {"s", s}}), doubles({5, 0, 0, 7}, {2, 2}));
    check_values(jacobian(f, "s", {{"B", b}, {"s", s}}), doubles({1, 0, 0, 2}, {2, 2}));
    check_values(b, doubles({1, 2}, {2}));
}

TEST_CASE("Jacobians of whole and complex numbers are errors") {
    const Function f = compile("y[i] := x[i]*x[i]");
    CHECK(error_text(
              [&] { (void)jacobian(f, "x", {{"x", Array::from<std::int64_t>({1, 2}, {2})}}); }) ==
          "gradient: the argument `x` has type i64, a Jacobian is made of real floating numbers\n"
          "  = hint: convert it, or take its parts: `real(…)`, `imag(…)`");
    CHECK(error_text([&] { (void)jacobian(f, "x", {}); }) ==
          "name: the argument `x` is missing\n"
          "  = hint: a derivative by it needs to know its shape");
}

TEST_CASE("products with the Hessian") {
    const Array x = doubles({1, 2}, {2});
    const Array direction = doubles({1, 10}, {2});
    // The Hessian of x0^2 x1 is [[2 x1, 2 x0], [2 x0, 0]].
    const Function f = compile("y := x[0]^2*x[1]");
    check_values(hessian_product(f, "x", {{"x", x}}, direction), doubles({24, 2}, {2}));
    const Function g = compile("y[i] := x[i]^3");
    check_values(hessian_product(g, "x", {{"x", x}}, direction), doubles({6, 120}, {2}));
    check_values(hessian_product(g, "x", {{"x", x}, {"dy", x}}, direction), doubles({6, 240}, {2}));
    check_values(hessian_product(compile("y[i] := 3*x[i]"), "x", {{"x", x}}, direction),
                 doubles({0, 0}, {2}));
    check_values(
        hessian_product(compile("B[i] = B[i]^2*s[i]"), "B", {{"B", x}, {"s", x}}, direction),
        doubles({2, 40}, {2}));
    check_values(x, doubles({1, 2}, {2}));
    CHECK(error_text([&] { (void)hessian_product(g, "x", {{"x", x}}, doubles({1}, {1})); }) ==
          "shape: the direction has the shape [1], `x` has [2]\n"
          "  = hint: a direction has the shape of its argument");
}

TEST_CASE("a product with the Hessian is the product with the Jacobian of the gradient") {
    const Function f = compile("y := log(sum[i](exp(W[i,k]*x[k])))");
    const Array w = Array::randn(DType::f64, {4, 3}, 1);
    const Array x = Array::randn(DType::f64, {3}, 2);
    const Array one = Array::full(DType::f64, {}, 1);
    const Array hessian = jacobian(f.grad("x"), "x", {{"W", w}, {"x", x}, {"dy", one}});
    const Array direction = Array::randn(DType::f64, {3}, 3);
    const Array expected = compile("p[i] := H[i,j]*d[j]")(hessian, direction);
    check_values(hessian_product(f, "x", {{"W", w}, {"x", x}}, direction), expected);
}

}  // namespace ricci::tests
