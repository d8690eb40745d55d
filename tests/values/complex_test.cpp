// tests/values/complex_test.cpp – complex numbers against those of the C++ library
#include <complex>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/support/error_text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

using C = std::complex<double>;
using List = std::vector<C>;

Array array_of(const List& values) {
    return Array::from(std::span<const C>(values), {std::ssize(values)});
}
List list_of(const Array& array) {
    const Array all = array.to(DType::c128);
    const auto values = all.span<const C>();
    return {values.begin(), values.end()};
}

/// Numbers of all four quadrants, on the axes, and 0.
const List a = {{1, 2},  {-1.5, 0.5}, {0.25, -3}, {-2, -1}, {3, 0},
                {-2, 0}, {0, 1.25},   {0, -0.75}, {0, 0},   {0.1, 0.2}};
const List b = {{-1, 1}, {2, 0.5}, {1e-3, -2}, {-0.5, -0.5}, {0, 2},
                {1, -1}, {-3, 0},  {4, 1},     {1, 0},       {-2, 7}};

/// The program's result on both devices; what it must be.
void check(const std::string& program, const Arguments& arguments, const List& expected) {
    INFO(program);
    for (const Device device : {Device::cpu, Device::reference}) {
        const Array found = compile(program, "", device)(copies(arguments));
        REQUIRE(found.dtype() == DType::c128);
        const List values = list_of(found);
        REQUIRE(values.size() == expected.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            INFO(format("{}, element {}: {}{:+}i instead of {}{:+}i", name(device), i,
                        values[i].real(), values[i].imag(), expected[i].real(),
                        expected[i].imag()));
            CHECK(std::abs(values[i] - expected[i]) <= 1e-14 * (1 + std::abs(expected[i])));
        }
    }
}

List each(const std::function<C(C, C)>& f) {
    List result;
    for (std::size_t i = 0; i < a.size(); ++i) result.push_back(f(a[i], b[i]));
    return result;
}

struct Binary {
    std::string_view text;
    C (*value)(C x, C y);
};
const Binary operations[] = {
    {"a[i] + b[i]", [](C x, C y) { return x + y; }},
    {"a[i] - b[i]", [](C x, C y) { return x - y; }},
    {"a[i]*b[i]", [](C x, C y) { return x * y; }},
    {"a[i]/b[i]", [](C x, C y) { return x / y; }},
    {"-a[i]", [](C x, C) { return -x; }},
    {"a[i]^2", [](C x, C) { return x * x; }},
    {"b[i]^(-3)", [](C, C y) { return C(1) / (y * y * y); }},
    {"b[i]^a[i]", [](C x, C y) { return std::exp(x * std::log(y)); }},
    {"a[i]^0", [](C, C) { return C(1); }},
    {"fma(a[i], b[i], a[i])", [](C x, C y) { return x * y + x; }},
    {"2*a[i] + 1i", [](C x, C) { return 2.0 * x + C(0, 1); }},
    {"a[i]*2.5i", [](C x, C) { return x * C(0, 2.5); }},
    {"a[i]/4", [](C x, C) { return x / 4.0; }},
    {"1/b[i]", [](C, C y) { return 1.0 / y; }},
    {"conj(a[i])", [](C x, C) { return std::conj(x); }},
    {"real(a[i]) + 1i*imag(b[i])", [](C x, C y) { return C(x.real(), y.imag()); }},
    {"abs(a[i]) + 0i", [](C x, C) { return C(std::abs(x)); }},
    {"abs2(a[i]) + 0i", [](C x, C) { return C(std::norm(x)); }},
    {"angle(a[i]) + 0i", [](C x, C) { return C(std::arg(x)); }},
    {"exp(a[i])", [](C x, C) { return std::exp(x); }},
    {"expm1(a[i])", [](C x, C) { return std::exp(x) - 1.0; }},
    {"log(b[i])", [](C, C y) { return std::log(y); }},
    {"log1p(a[i]*a[i])", [](C x, C) { return std::log(1.0 + x * x); }},
    {"log2(b[i])", [](C, C y) { return std::log(y) / std::log(2.0); }},
    {"log10(b[i])", [](C, C y) { return std::log10(y); }},
    {"sqrt(a[i])", [](C x, C) { return std::sqrt(x); }},
    {"rsqrt(b[i])", [](C, C y) { return 1.0 / std::sqrt(y); }},
    {"sin(a[i])", [](C x, C) { return std::sin(x); }},
    {"cos(a[i])", [](C x, C) { return std::cos(x); }},
    {"tan(a[i])", [](C x, C) { return std::tan(x); }},
    {"sinh(a[i])", [](C x, C) { return std::sinh(x); }},
    {"cosh(a[i])", [](C x, C) { return std::cosh(x); }},
    {"tanh(a[i])", [](C x, C) { return std::tanh(x); }},
    {"sigmoid(a[i])", [](C x, C) { return 1.0 / (1.0 + std::exp(-x)); }},
    {"silu(a[i])", [](C x, C) { return x / (1.0 + std::exp(-x)); }},
    {"sign(a[i])", [](C x, C) { return x == 0.0 ? C(0) : x / std::abs(x); }},
    {"real(a[i]) > 0 ? a[i] : b[i]", [](C x, C y) { return x.real() > 0 ? x : y; }},
    {"(a[i] == b[i] ? 1 : 2) + 0i", [](C x, C y) { return C(x == y ? 1 : 2); }},
    {"(a[i] != 0 ? 1 : 2) + 0i", [](C x, C) { return C(x != 0.0 ? 1 : 2); }},
    {"(isfinite(a[i]) ? 1 : 2) + 0i", [](C, C) { return C(1); }}};

TEST_CASE("operations of complex numbers are those of the library") {
    for (const Binary& operation : operations) {
        const std::string text = format("y[i] := {}", operation.text);
        Arguments arguments;
        if (text.find("a[i]") != std::string::npos) arguments.emplace_back("a", array_of(a));
        if (text.find("b[i]") != std::string::npos) arguments.emplace_back("b", array_of(b));
        check(text, arguments, each(operation.value));
    }
}

TEST_CASE("gradients of complex arrays that are updated once made leave arguments alone") {
    const Array ones = Array::full(DType::f64, {4}, 1).to(DType::c128);
    const Array real = Array::arange(DType::f64, {4});
    const auto check_gradient = [&](const std::string& text, const char* wrt, Arguments arguments,
                                    const List& expected) {
        arguments.emplace_back("dY", ones);
        for (const Device device : {Device::cpu, Device::reference}) {
            INFO(format("{}, {}", text, name(device)));
            const List found = list_of(compile(text, "", device).grad(wrt)(arguments));
            CHECK(found == expected);
        }
    };
    // Y is A*B but for its first element, 2, before it is multiplied.
    check_gradient("Y[i] := B[i]*A[i]; Y[0] = 2; Y[i] *= C[i]", "C",
                   {{"A", ones}, {"B", real}, {"C", ones}}, {2, 1, 2, 3});
    check_gradient("Y[i] := A[i]; Y[0] = 2; Y[i] *= B[i]", "A", {{"A", ones}, {"B", real}},
                   {0, 1, 2, 3});
    check_gradient("t[i] := A[i]*2; t[0] = 2; Y[i] := t[i]*t[i]*B[i]", "A",
                   {{"A", ones}, {"B", real}}, {0, 8, 16, 24});
    CHECK(list_of(real) == List{0, 1, 2, 3});
    CHECK(list_of(ones) == List{1, 1, 1, 1});
}

TEST_CASE("complex arrays have as many dimensions as others") {
    const std::string all = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p";
    Shape shape(16, 1);
    shape[3] = 2;
    shape[15] = 3;
    const Array x = Array::randn(DType::c128, shape);
    List expected;
    for (const C& value : list_of(x)) expected.push_back(value * C(0, 2));
    check(format("Y[{0}] := X[{0}]*2i", all), {{"X", x}}, expected);
}

TEST_CASE("complex numbers promote: with real ones, in their precision") {
    const Array single = array_of(a).to(DType::c64);
    const Array real = Array::rand(DType::f32, {10});
    const Arguments both = {{"a", single}, {"x", real}};
    CHECK(type_of("y[i] := a[i]*x[i]", both) == DType::c64);
    CHECK(type_of("y[i] := a[i]*x[i]", {{"a", single}, {"x", real.to(DType::f64)}}) == DType::c128);
    CHECK(type_of("y[i] := a[i] + 2.5", {{"a", single}}) == DType::c64);
    CHECK(type_of("y[i] := x[i]*1i", {{"x", real}}) == DType::c64);
    CHECK(type_of("y[i] := x[i]*1i", {{"x", real.to(DType::i32)}}) == DType::c128);
    CHECK(type_of("y[i] := c64(x[i])", {{"x", real}}) == DType::c64);
    CHECK(type_of("y[i] := abs(a[i])", {{"a", single}}) == DType::f32);
    CHECK(type_of("y[i] := angle(a[i])", {{"a", single}}) == DType::f32);
    CHECK(type_of("y[i] := a[i] == a[i]", {{"a", single}}) == DType::boolean);
    CHECK(type_of("s := 1i", {}) == DType::c128);
    CHECK(type_of("s := norm[i](a[i])", {{"a", single}}) == DType::f32);
    CHECK(type_of("s := mean[i](a[i])", {{"a", single}}) == DType::c64);
}

TEST_CASE("reductions of complex numbers") {
    const Arguments one = {{"a", array_of(a)}};
    C sum = 0;
    C product = 1;
    C squares = 0;
    for (const C x : a) {
        sum += x;
        squares += x * std::conj(x);
        if (x != 0.0) product *= x;
    }
    check("s := sum[i](a[i])", one, {sum});
    check("s := a[i]*conj(a[i])", one, {squares});
    check("s := mean[i](a[i])", one, {sum / 10.0});
    check("s := prod[i | a[i] != 0](a[i])", one, {product});
    check("s := prod[i](a[i])", one, {0});
    check("s := prod[i | abs(a[i]) > 100](a[i])", one, {1});
    check("s := sum[i | real(a[i]) > 100](a[i])", one, {0});
    check("s := norm[i](a[i]) + 0i", one, {std::sqrt(squares)});
    check("s := count[i](a[i]) + 0i", one, {9});
}

TEST_CASE("a product of complex matrices") {
    const Array x = Array::randn(DType::c128, {5, 33}, 1);
    const Array y = Array::randn(DType::c128, {33, 7}, 2);
    const List left = list_of(x);
    const List right = list_of(y);
    List expected(35);
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < 7; ++j)
            for (std::size_t k = 0; k < 33; ++k)
                expected[i * 7 + j] += left[i * 33 + k] * right[k * 7 + j];
    check("C[i,j] := A[i,k]*B[k,j]", {{"A", x}, {"B", y}}, expected);
    check("C[i,j] := A[i,k]*B[j,k]", {{"A", x}, {"B", y.transpose({1, 0})}}, expected);
}

TEST_CASE("complex arrays are updated in place") {
    struct Update {
        std::string_view op;
        C (*value)(C x, C y);
    };
    const Update updates[] = {{"=", [](C, C y) { return y; }},
                              {"+=", [](C x, C y) { return x + y; }},
                              {"-=", [](C x, C y) { return x - y; }},
                              {"*=", [](C x, C y) { return x * y; }}};
    for (const Update& update : updates) {
        for (const std::string_view where : {"", " where i in 2:5"}) {
            const std::string text = format("a[i] {} b[i]{}", update.op, where);
            INFO(text);
            for (const Device device : {Device::cpu, Device::reference}) {
                const Array old = array_of(a);
                const Array found = compile(text, "", device)({{"a", old}, {"b", array_of(b)}});
                const List values = list_of(old);
                CHECK(list_of(found) == values);
                for (std::size_t i = 0; i < a.size(); ++i) {
                    const bool is_named = where.empty() || (i >= 2 && i < 5);
                    CHECK(std::abs(values[i] - (is_named ? update.value(a[i], b[i]) : a[i])) <
                          1e-13);
                }
            }
        }
    }
}

TEST_CASE("a real number is added to complex ones that were updated before") {
    for (const Device device : {Device::cpu, Device::reference}) {
        const Array sums = array_of({0, 0});
        const Arguments arguments{{"h", sums},
                                  {"J", Array::zeros(DType::i64, {3})},
                                  {"z", array_of({{1, 2}, {3, 4}, {5, 6}})},
                                  {"x", Array::full(DType::f64, {}, 10)}};
        (void)compile("h[J[n]] += z[n]; h[J[n]] += x", "", device)(arguments);
        CHECK(list_of(sums) == List{{39, 12}, {0, 0}});
    }
}

TEST_CASE("a scaling of complex numbers by a reduction") {
    const Array m = Array::randn(DType::c128, {10, 3}, 5);
    const List values = list_of(m);
    List expected = a;
    for (std::size_t i = 0; i < 10; ++i)
        for (std::size_t k = 0; k < 3; ++k) expected[i] *= values[i * 3 + k];
    check("a[i] *= M[i,k]", {{"a", array_of(a)}, {"M", m}}, expected);
    List sums = a;
    for (std::size_t i = 0; i < 10; ++i)
        sums[i] *= values[i * 3] + values[i * 3 + 1] + values[i * 3 + 2];
    check("a[i] *= sum[k](M[i,k])", {{"a", array_of(a)}, {"M", m}}, sums);
}

TEST_CASE("views of complex arrays are read where they are") {
    const Array m = Array::randn(DType::c128, {4, 10}, 3);
    const List values = list_of(m);
    List expected;
    for (std::size_t i = 1; i < 9; ++i) expected.push_back(values[20 + i] * 2.0);
    check("y[i] := 2*x[i]", {{"x", m.slice(0, 2, 3).reshape({10}).slice(0, 1, 9)}}, expected);
}

TEST_CASE("complex numbers have no order and do not fit real arrays") {
    const Arguments one = {{"a", array_of(a)}};
    const auto of = [&](const std::string& text, const Arguments& arguments) {
        return error_text([&] { (void)compile(text)(arguments); });
    };
    CHECK(of("y[i] := a[i] < 1", one) ==
          "type: `a[i] < 1` orders complex numbers\n"
          "  | y[i] := a[i] < 1\n"
          "  |         ^^^^^^^^\n"
          "  = hint: compare their parts: `real(…)`, `abs(…)`");
    CHECK(of("s := max[i](a[i])", one).starts_with("type: `max` orders complex numbers\n"));
    CHECK(of("s := argmin[i](a[i])", one).starts_with("type: `argmin` orders complex numbers\n"));
    CHECK(of("y[i] := max(a[i], 0)", one).starts_with("type: `max(a[i], 0)` orders complex"));
    CHECK(of("a[i] max= 2", one).starts_with("type: `a[i] >= 2` orders complex"));
    CHECK(of("a[i] max= 2 where i in 0:3", one).starts_with("type: `max=` orders complex"));
    CHECK(of("y[i] := erf(a[i])", one).starts_with("type: `erf` is not defined for complex"));
    CHECK(of("y[i] := a[i] // 2", one).starts_with("type: `//` is not defined for complex"));
    CHECK(of("x[i] = a[i]", {{"a", array_of(a)}, {"x", Array::zeros(DType::f64, {10})}})
              .starts_with("type: `x` has the type f64 and cannot take c128 values\n"));
    CHECK(of("y[i] := f32(a[i])", one)
              .starts_with("type: a value of type c128 is converted to f32\n"));
    CHECK(error_text([] {
              (void)array_of(a).to(DType::f64);
          }).starts_with("type: values of type c128 are converted to f64\n"));
}

TEST_CASE("complex arrays print both parts") {
    CHECK(str(array_of({{1, 2}, {-0.5, -1}})) == "[   1+2i, -0.5-1i]");
    CHECK(str(Array::from({-std::nan(""), 1.5}, {2})) == "[nan, 1.5]");
}

}  // namespace
}  // namespace ricci::tests
