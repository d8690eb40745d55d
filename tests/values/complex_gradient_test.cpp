// tests/values/complex_gradient_test.cpp – gradients of functions of complex numbers
#include <algorithm>
#include <complex>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/support/error_text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

using C = std::complex<double>;

/// Re(sum conj(g) Y): the real number whose gradient has the cotangent g at Y.
double projected(const Array& y, const Array& g) {
    const Array left = y.to(DType::c128);
    const Array right = g.to(DType::c128);
    double total = 0;
    for (std::int64_t i = 0; i < left.size(); ++i)
        total += (std::conj(right.span<const C>()[std::size_t(i)]) *
                  left.span<const C>()[std::size_t(i)])
                     .real();
    return total;
}

/// Forward mode against the gradient: Re<g, J d> = Re<J^H g, d>.
void check_tangent(const Function& f, const std::string& w, Arguments arguments,
                   const Array& gradient, const Array& g) {
    const Function tangent = f.jvp({w});
    INFO(str(tangent));
    const Array direction = Array::randn(gradient.dtype(), gradient.shape(), 98);
    std::string given = "d" + w;
    const auto is_taken = [&](const Tensor& tensor) { return tensor.name == given; };
    while (std::ranges::any_of(f.program().tensors, is_taken)) given += '_';
    arguments.emplace_back(given, direction);
    const Array found = tangent(arguments);
    REQUIRE(found.shape() == g.shape());
    const double forwards = projected(found, g);
    const double backwards = projected(gradient, direction);
    CHECK(std::abs(forwards - backwards) < 1e-10 * (1 + std::abs(forwards)));
}

/// The gradient of `w` against differences along both axes, or the real one, and against forward
/// mode.
void check(const Function& f, const std::string& w, Arguments arguments) {
    INFO(str(f));
    const Array y = f(arguments);
    const Array g = Array::randn(y.dtype(), y.shape(), 99);
    Array* given = nullptr;
    for (auto& [name, array] : arguments)
        if (name == w) given = &array;
    Arguments all = arguments;
    all.emplace_back("d" + f.program().at(f.program().result()).name, g);
    const Array found = f.grad(w)(all);
    check_tangent(f, w, arguments, found, g);
    REQUIRE(found.dtype() == given->dtype());
    REQUIRE(found.shape() == given->shape());
    const bool is_real = !is_complex(given->dtype());
    const Array values = given->copy();
    const Array gradient = found.to(DType::c128);
    constexpr double step = 1e-6;
    for (std::int64_t i = 0; i < values.size(); ++i) {
        const auto moved = [&](C by) {
            *given = values.copy();
            if (is_real)
                given->span<double>()[std::size_t(i)] += by.real();
            else
                given->span<C>()[std::size_t(i)] += by;
            return projected(f(arguments), g);
        };
        const double re = (moved(step) - moved(-step)) / (2 * step);
        const double im = is_real ? 0 : (moved(C(0, step)) - moved(C(0, -step))) / (2 * step);
        const C exact = gradient.span<const C>()[std::size_t(i)];
        INFO(format("element {}: {}{:+}i, differences {}{:+}i", i, exact.real(), exact.imag(), re,
                    im));
        CHECK(std::abs(exact - C(re, im)) < 1e-7 * (1 + std::abs(exact)));
    }
    *given = values;
}

/// The same of its gradient and of its tangent, as functions of all that they take.
void check_second_order(const Function& f, const std::string& w, Arguments arguments) {
    const Array y = f(arguments);
    Array of_w;
    for (const auto& [name, array] : arguments)
        if (name == w) of_w = array;
    const std::string result = f.program().at(f.program().result()).name;
    const Array cotangent = Array::randn(y.dtype(), y.shape(), 97);
    const Array tangent = Array::randn(of_w.dtype(), of_w.shape(), 96);
    for (const bool is_reverse : {true, false}) {
        const Function first = is_reverse ? f.grad(w) : f.jvp({w});
        Arguments all = arguments;
        all.emplace_back("d" + (is_reverse ? result : w), is_reverse ? cotangent : tangent);
        for (const auto& [name, array] : Arguments(all))
            if (first.program().argument(name)) check(first, name, all);
    }
}

void check(const std::string& program, const std::string& w, const Arguments& arguments) {
    const Function f = compile(program, "", Device::cpu);
    check(f, w, arguments);
    check_second_order(f, w, arguments);
}

Array numbers(Shape shape, std::uint64_t seed) {
    return Array::randn(DType::c128, std::move(shape), seed);
}

constexpr std::string_view functions[] = {"x[i]*x[i]*z[i]",
                                          "z[i]/x[i]",
                                          "x[i]^3",
                                          "x[i]^z[i]",
                                          "exp(x[i])",
                                          "log(x[i])",
                                          "sqrt(x[i])",
                                          "sin(x[i])",
                                          "cos(x[i])",
                                          "tan(x[i])",
                                          "sinh(x[i])",
                                          "cosh(x[i])",
                                          "tanh(x[i])",
                                          "sigmoid(x[i])",
                                          "silu(x[i])",
                                          "expm1(x[i])",
                                          "log1p(x[i])",
                                          "rsqrt(x[i])",
                                          "conj(x[i])*z[i]",
                                          "real(x[i])",
                                          "imag(x[i])",
                                          "abs(x[i])",
                                          "abs2(x[i])",
                                          "angle(x[i])",
                                          "sign(x[i])",
                                          "real(x[i])*z[i]",
                                          "abs2(x[i] - z[i])",
                                          "imag(x[i]*z[i])^2",
                                          "2i*x[i] + conj(x[i])",
                                          "real(x[i]) > 0 ? x[i]*z[i] : conj(x[i])",
                                          "abs(x[i])*x[i]",
                                          "fma(x[i], z[i], x[i])",
                                          "max(real(x[i]), imag(x[i]))*x[i]",
                                          "c128(real(x[i]))*z[i]"};

TEST_CASE("gradients of complex numbers are those along both axes") {
    for (const std::string_view function : functions) {
        Arguments arguments = {{"x", numbers({5}, 1)}};
        if (function.find("z[i]") != std::string_view::npos)
            arguments.emplace_back("z", numbers({5}, 2));
        check(format("Y[i] := {}", function), "x", arguments);
    }
}

TEST_CASE("a real argument of a complex function has a real gradient") {
    const Array w = Array::randn(DType::f64, {5}, 3);
    const Array z = numbers({5}, 2);
    check("Y[i] := w[i]*z[i]", "w", {{"w", w}, {"z", z}});
    check("Y[i] := exp(1i*w[i])*z[i]", "w", {{"w", w}, {"z", z}});
    check("Y[i] := exp(2i*w[i])", "w", {{"w", w}});
    check("Y[i] := imag(z[i]*w[i]) + real(z[i])", "w", {{"w", w}, {"z", z}});
    check("H[i] := sin(w[i]); Y[i] := abs(H[i]*z[i] + H[i]^2)", "w", {{"w", w}, {"z", z}});
    check("Y[i] := w[i]*z[i]", "z", {{"w", w}, {"z", z}});
}

TEST_CASE("gradients go through reductions and products of complex matrices") {
    const Array a = numbers({3, 4}, 1);
    const Array b = numbers({4, 2}, 2);
    check("Y[i,j] := A[i,k]*B[k,j]", "A", {{"A", a}, {"B", b}});
    check("Y[i,j] := A[i,k]*B[k,j]", "B", {{"A", a}, {"B", b}});
    check("Y[i] := mean[k](A[i,k])", "A", {{"A", a}});
    check("Y := norm[i,k](A[i,k])", "A", {{"A", a}});
    check("Y[i] := prod[k](A[i,k])", "A", {{"A", a}});
    check("H[i] := A[i,k]*A[i,k]; Y := abs2(H[i])", "A", {{"A", a}});
    check("Y[i] := A[i,k+1]*conj(A[i,k])", "A", {{"A", a}});
}

TEST_CASE("the gradient of a complex product has the conjugate factor") {
    const Array x = Array::from({C(1, 2)}, {1});
    const Array z = Array::from({C(3, -1)}, {1});
    const Function f = compile("Y[i] := x[i]*z[i]", "", Device::cpu);
    const Array one = Array::full(DType::c128, {1}, 1);
    const Array found = f.grad("x")({{"x", x}, {"z", z}, {"dY", one}});
    CHECK(found.span<const C>()[0] == C(3, 1));
}

TEST_CASE("a tangent of complex numbers is multiplied without conjugates") {
    const Array x = Array::from({C(1, 2)}, {1});
    const Array z = Array::from({C(3, -1)}, {1});
    const Function f = compile("Y[i] := x[i]*z[i]", "", Device::cpu);
    const Array found = f.jvp({"x"})({{"x", x}, {"z", z}, {"dx", x}});
    CHECK(found.span<const C>()[0] == C(5, 5));
}

TEST_CASE("derivatives of gradients of complex numbers of any order") {
    const Array x = Array::from({C(1, 2)}, {1});
    const Function f = compile("Y[i] := x[i]^3", "", Device::cpu);
    const Array one = Array::full(DType::c128, {1}, 1);
    const Function third = f.jvp({"x"}).jvp({"x"}).jvp({"x"});
    const Array found = third({{"x", x}, {"dx", one}, {"dx_", one}, {"dx__", one}});
    CHECK(found.span<const C>()[0] == C(6, 0));
}

}  // namespace
}  // namespace ricci::tests
