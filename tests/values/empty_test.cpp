// tests/values/empty_test.cpp – reductions over nothing, of NaN, of equal values
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/tape.h"
#include "tests/support/error_text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

double of_nothing(std::string_view reducer, DType dtype) {
    const Array a = Array::zeros(dtype, {0});
    return run_both(format("s := {}[k](a[k])", reducer), {{"a", a}}).item();
}

TEST_CASE("a reduction over nothing gives the identity of its type") {
    for (const DType dtype : real_types) {
        CAPTURE(name(dtype));
        CHECK(of_nothing("sum", dtype) == 0);
        CHECK(of_nothing("prod", dtype) == 1);
        const double low = is_whole(dtype) ? static_cast<double>(least(dtype)) : -inf;
        const double high = is_whole(dtype) ? static_cast<double>(greatest(dtype)) : inf;
        CHECK(of_nothing("max", dtype) == low);
        CHECK(of_nothing("min", dtype) == high);
        CHECK(of_nothing("any", dtype) == 0);
        CHECK(of_nothing("all", dtype) == 1);
        CHECK(of_nothing("count", dtype) == 0);
        CHECK(of_nothing("logsumexp", dtype) == -inf);
        CHECK(of_nothing("norm", dtype) == 0);
    }
}

TEST_CASE(
    "the gradient of a reduction of nothing is as empty, and what it would read is not made") {
    const Array none = Array::zeros(DType::f32, {0});
    const Array keys = Array::zeros(DType::i64, {0});
    const Function gradient = compile("h[J[n]] += 1; g[J[n]] max= x[n]", "", Device::cpu).grad("x");
    CHECK(gradient(Arguments{{"J", keys}, {"g", none}, {"x", none}, {"dg", none}}).shape() ==
          Shape{0});
}

TEST_CASE("an extremum that a condition leaves nothing of has a gradient: nothing") {
    const Array a = Array::full(DType::f64, {2, 3}, 1);
    for (const char* text : {"y[j] := max[k | k+1 > j](A[k,j])", "y[j] := min[k | k+1 > j](A[k,j])",
                             "y[j] := logsumexp[k | k+1 > j](A[k,j])"}) {
        CAPTURE(text);
        const Function gradient = compile(text, "", Device::cpu).grad("A");
        const Array d = gradient(Arguments{{"A", a}, {"dy", Array::full(DType::f64, {3}, 1)}});
        CHECK(str(d.slice(1, 2, 3).copy()) == "[[0],\n [0]]");
        CHECK(str(d.slice(1, 1, 2).copy()) == "[[0],\n [1]]");
    }
}

TEST_CASE("equal means that one condition excludes are each checked") {
    const char* const text = "Y[i] := b[i] != 0 ? mean[l](X[i,l]) + 2*mean[m](X[i,m]) : 0";
    const Array b = Array::from<double>({0, 1}, {2});
    const Array x = Array::from<double>({1, 2, 3, 5}, {2, 2});
    CHECK(str(run_both(text, {{"b", b}, {"X", x}})) == "[ 0, 12]");
    const Array none = Array::zeros(DType::f64, {2, 0});
    for (const Device device : {Device::cpu, Device::reference}) {
        const Function f = compile(text, "", device);
        CHECK(str(f(Arguments{{"b", Array::zeros(DType::f64, {2})}, {"X", none}})) == "[0, 0]");
        CHECK(error_text([&] {
                  (void)f(Arguments{{"b", b}, {"X", none}});
              }).find("`mean` over nothing") != std::string::npos);
    }
}

TEST_CASE("what a condition leaves nothing of gives the identity, too") {
    const Array a = small_values(DType::f32, 33);
    for (const auto& [reducer, expected] :
         std::initializer_list<std::pair<const char*, double>>{{"sum", 0},
                                                               {"prod", 1},
                                                               {"max", -inf},
                                                               {"min", inf},
                                                               {"any", 0},
                                                               {"all", 1},
                                                               {"count", 0},
                                                               {"logsumexp", -inf},
                                                               {"norm", 0}}) {
        CAPTURE(reducer);
        const Array y = run_both(
            format("y[i] := {}[k | k < i - 32](a[k]) where i in 0:33", reducer), {{"a", a}});
        CHECK(y.at({7}) == expected);
        const Array z = run_both(format("z := {}[k | a[k] > 1000](a[k])", reducer), {{"a", a}});
        CHECK(z.item() == expected);
    }
}

TEST_CASE("the mean and the position of an extremum of nothing are errors") {
    const auto of = [](const std::string& text, Shape shape) {
        return error_text(
            [&] { (void)run_both(text, {{"X", Array::zeros(DType::f32, std::move(shape))}}); });
    };
    CHECK(of("M[j] := mean[i](X[i,j])", {0, 3}) ==
          "range: `mean` over nothing: index `i` runs over 0:0\n"
          "  | M[j] := mean[i](X[i,j])\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: `mean` has no value for an empty range");
    CHECK(of("M[j] := argmax[i](X[i,j])", {0, 3}).starts_with("range: `argmax` over nothing"));
    CHECK(of("s := 1 + argmin[i](X[i,0])", {0, 3}).starts_with("range: `argmin` over nothing"));
    CHECK(of("M[j] := sum[i](mean[k](X[k,j]) + i) where i in 0:2", {0, 3})
              .starts_with("range: `mean` over nothing"));
}

TEST_CASE("a mean of what a condition excludes is an error where that can be known before") {
    const Array x = small_values(DType::f32, 9).reshape({3, 3});
    const auto of = [&](const std::string& text) {
        return error_text([&] { (void)run_both(text, {{"X", x}}); });
    };
    CHECK(of("M[i] := mean[k | k < i](X[i,k])") ==
          "range: `mean` over nothing: `k < i` holds nowhere for `i` = 0\n"
          "  | M[i] := mean[k | k < i](X[i,k])\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: `mean` has no value there: restrict the range with `where`, or choose another "
          "value with `?:`");
    CHECK(of("M[i] := argmax[k | k > i](X[i,k])")
              .starts_with("range: `argmax` over nothing: `k > i` holds nowhere for `i` = 2\n"));
    CHECK(
        of("s := argmin[k | k >= size(X, 0)](X[0,k])").starts_with("range: `argmin` over nothing"));
    CHECK(of("M[i+_] := mean[k | k < i](X[i,k]) where i in 1:3") == "no error");
    CHECK(of("M[i] := mean[k | k <= i && (i + k) % 2 == 0](X[i,k])") == "no error");
}

/// The text of the error that a program makes as compiled and as evaluated, which must be one text.
std::string error_of_both(const std::string& text, const Arguments& arguments) {
    const auto of = [&](Device device) {
        return error_text([&] {
            const Function function = compile(text, "", device);
            (void)function(arguments);
        });
    };
    const std::string found = of(Device::cpu);
    CHECK(of(Device::reference) == found);
    return found;
}

TEST_CASE("a mean of what data excludes is an error before anything is written") {
    const Array x = Array::from<float>({1, 2, 3, 4}, {4});
    const Array s = Array::from<std::int64_t>({0, 1, 1, 3}, {4});
    CHECK(error_of_both("y[i] := mean[k | S[k] == i](x[k]) where i in 0:4", {{"x", x}, {"S", s}}) ==
          "range: `mean` over nothing: `S[k] == i` holds nowhere for `i` = 2\n"
          "  | y[i] := mean[k | S[k] == i](x[k]) where i in 0:4\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: `mean` has no value there: restrict the range with `where`, or choose another "
          "value with `?:`");
    CHECK(error_of_both("s := argmax[k | x[k] > 5](x[k])", {{"x", x}})
              .starts_with("range: `argmax` over nothing: `x[k] > 5` holds nowhere\n"));
    CHECK(error_of_both("s := 1 + argmin[k | isnan(x[k])](x[k])", {{"x", x}})
              .starts_with("range: `argmin` over nothing: `isnan(x[k])` holds nowhere\n"));
    // A number that no shape depends on is data, too.
    CHECK(error_of_both("s := mean[k | k > c](x[k])", {{"x", x}, {"c", Array(9)}})
              .starts_with("range: `mean` over nothing: `k > c` holds nowhere\n"));
    CHECK(error_of_both("s := mean[k | k > c](x[k])", {{"x", x}, {"c", Array(3.5)}})
              .starts_with("range: `mean` over nothing: `k > c` holds nowhere\n"));
    const Array y = Array::zeros(DType::f32, {4});
    CHECK(error_of_both("n := count[k](x[k] > 9); y[i] += mean[k | k < n](x[k])",
                        {{"x", x}, {"y", y}})
              .starts_with("range: `mean` over nothing: `k < n` holds nowhere\n"));
    CHECK(error_of_both("y[i] += 1; s := mean[k | y[k] > 5](x[k])", {{"x", x}, {"y", y}})
              .starts_with("range: `mean` over nothing: `y[k] > 5` holds nowhere\n"));
    CHECK(str(y) == "[0, 0, 0, 0]");
}

TEST_CASE("the place of a missing point is named by all indices around it") {
    const Array x = Array::from<float>({1, 2, 3, 4}, {4}).reshape({2, 2});
    CHECK(error_of_both("y[i] := sum[j | j != i](argmax[k | x[j,k] > 2](x[i,k]))", {{"x", x}})
              .starts_with("range: `argmax` over nothing: `x[j,k] > 2` holds nowhere for `i` = 1, "
                           "`j` = 0\n"));
    CHECK(error_of_both("y[i] := logsumexp[j](mean[k | x[j,k] > 2](x[i,k]))", {{"x", x}})
              .starts_with("range: `mean` over nothing: `x[j,k] > 2` holds nowhere for `j` = 0\n"));
}

TEST_CASE("where conditions around it exclude a mean of nothing there is no error") {
    const Array x = Array::from<float>({1, 2, 3, 4}, {4});
    const Array s = Array::from<std::int64_t>({0, 1, 1, 3}, {4});
    const Array none = Array::zeros(DType::f32, {4, 0});
    const auto text = [](const std::string& program, const Arguments& arguments) {
        return str(run_both(program, arguments));
    };
    CHECK(text("y[i] := any[k](S[k] == i) ? mean[k | S[k] == i](x[k]) : -1 where i in 0:4",
               {{"x", x}, {"S", s}}) == "[  1, 2.5,  -1,   4]");
    CHECK(text("y[i] := i > 0 ? mean[k | k < i](x[k]) : 0 where i in 0:4", {{"x", x}}) ==
          "[  0,   1, 1.5,   2]");
    CHECK(text("y[i] := i == 0 || argmax[k | k < i](x[k]) == i-1 where i in 0:4", {{"x", x}}) ==
          "[true, true, true, true]");
    CHECK(text("y[i] := size(x, 1) > 0 ? mean[k](x[i,k]) : 7", {{"x", none}}) == "[7, 7, 7, 7]");
    CHECK(text("y[i] := S[i] < 0 ? mean[k](z[i,k]) : 7", {{"S", s}, {"z", none}}) ==
          "[7, 7, 7, 7]");
    CHECK(text("y := sum[i | S[i] == 1](argmin[k | k < i](x[k]))", {{"x", x}, {"S", s}}) == "0");
    CHECK(
        error_of_both("y[i] := S[i] > 2 ? mean[k](z[i,k]) : 7", {{"S", s}, {"z", none}})
            .starts_with("range: `mean` over nothing: `0 < size(z,1)` holds nowhere for `i` = 3"));
}

TEST_CASE("a mean of nothing is an error in a gradient, and in the forward part of a tape") {
    const Array s = Array::from<std::int64_t>({0, 1, 1, 3}, {4});
    const Function mean = compile("y[i] := mean[k | S[k] == i](x[k]^2) where i in 0:4");
    const Var x = param(Array::from<float>({1, 2, 3, 4}, {4}));
    CHECK(error_text([&] {
              (void)ricci::apply(mean, {s, x});
          }).starts_with("range: `mean` over nothing: `S[k] == i` holds nowhere for `i` = 2\n"));
    const Array dy = Array::from<float>({1, 1, 1, 1}, {4});
    CHECK(error_text([&] {
              (void)mean.grad("x")({{"x", x.value()}, {"S", s}, {"dy", dy}});
          }).starts_with("range: `mean` over nothing: `S[k] == i` holds nowhere for `i` = 2\n"));
    const Function place = compile("y[i] := w[i]*argmax[k | S[k] == i](x[k]) where i in 0:4");
    const Arguments arguments = {{"w", dy}, {"x", x.value()}, {"S", s}, {"dy", dy}};
    CHECK(error_text([&] {
              (void)place.grad("w")(arguments);
          }).starts_with("range: `argmax` over nothing: `S[k] == i` holds nowhere for `i` = 2\n"));
    const Arguments moving = {{"w", dy}, {"x", x.value()}, {"S", s}, {"dw", dy}};
    CHECK(error_text([&] {
              (void)place.jvp({"w"})(moving);
          }).starts_with("range: `argmax` over nothing: `S[k] == i` holds nowhere for `i` = 2\n"));
    const Array all = Array::from<std::int64_t>({0, 1, 2, 3}, {4});
    CHECK(str(place.grad("w")({{"w", dy}, {"x", x.value()}, {"S", all}, {"dy", dy}})) ==
          "[0, 1, 2, 3]");
}

TEST_CASE("where no value is asked for there is no mean of nothing") {
    const auto shape = [](const std::string& text, Shape of) {
        return run_both(text, {{"X", Array::zeros(DType::f32, std::move(of))}}).shape();
    };
    CHECK(shape("M[j] := mean[i](X[i,j])", {0, 0}) == Shape{0});
    CHECK(shape("M[j] := argmax[i](X[i,j])", {0, 0}) == Shape{0});
    CHECK(shape("M[j] := mean[i](X[i,j])", {3, 0}) == Shape{0});
}

TEST_CASE("the first of equal values has the position") {
    for (const DType dtype : real_types) {
        CAPTURE(name(dtype));
        for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, std::int64_t{100}}) {
            const Array a = Array::full(dtype, {n}, 1);
            CHECK(run_both("s := argmax[k](a[k])", {{"a", a}}).item() == 0);
            CHECK(run_both("s := argmin[k](a[k])", {{"a", a}}).item() == 0);
        }
    }
    Array a = Array::zeros(DType::i8, {70});
    a.span<std::int8_t>()[41] = 5;
    a.span<std::int8_t>()[9] = -5;
    a.span<std::int8_t>()[66] = 5;
    CHECK(run_both("s := argmax[k](a[k])", {{"a", a}}).item() == 41);
    CHECK(run_both("s := argmin[k](a[k])", {{"a", a}}).item() == 9);
    CHECK(run_both("s := argmax[k in 50:70](a[k])", {{"a", a}}).item() == 66);
    CHECK(run_both("s := argmax[k | k != 41](a[k])", {{"a", a}}).item() == 66);
}

TEST_CASE("a NaN is the extremum, and the first one has the position") {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        CAPTURE(name(dtype));
        Array wide = small_values(DType::f64, 75);
        wide.span<double>()[43] = nan;
        wide.span<double>()[60] = nan;
        const Array a = wide.to(dtype);
        CHECK(std::isnan(run_both("s := max[k](a[k])", {{"a", a}}).item()));
        CHECK(std::isnan(run_both("s := min[k](a[k])", {{"a", a}}).item()));
        CHECK(std::isnan(run_both("s := sum[k](a[k])", {{"a", a}}).item()));
        CHECK(std::isnan(run_both("s := logsumexp[k](a[k])", {{"a", a}}).item()));
        CHECK(run_both("s := argmax[k](a[k])", {{"a", a}}).item() == 43);
        CHECK(run_both("s := argmin[k](a[k])", {{"a", a}}).item() == 43);
        CHECK(run_both("s := any[k](a[k])", {{"a", a}}).item() == 1);
        CHECK(run_both("s := count[k](a[k] != a[k])", {{"a", a}}).item() == 2);
        // What a condition excludes is not looked at.
        CHECK(!std::isnan(run_both("s := max[k | !isnan(a[k])](a[k])", {{"a", a}}).item()));
        CHECK(!std::isnan(run_both("s := sum[k | a[k] == a[k]](a[k])", {{"a", a}}).item()));
        const Array y = run_both("a[i] max= 0", {{"a", a}});
        CHECK(std::isnan(y.at({43})));
        CHECK(std::isnan(run_both("y[i] := max(a[i], 0) + min(0, a[i])", {{"a", a}}).at({60})));
    }
}

TEST_CASE("infinities are honoured") {
    const Array a = Array::from({inf, -inf, 0.0, 1.0}, {4});
    CHECK(std::isnan(run_both("s := sum[k](a[k])", {{"a", a}}).item()));
    CHECK(std::isnan(run_both("s := sum[k](0*a[k])", {{"a", a}}).item()));
    CHECK(run_both("s := max[k](a[k])", {{"a", a}}).item() == inf);
    CHECK(run_both("s := logsumexp[k](a[k])", {{"a", a}}).item() == inf);
    CHECK(run_both("s := logsumexp[k in 1:4](a[k])", {{"a", a}}).item() ==
          doctest::Approx(std::log(1 + std::exp(1))));
    CHECK(run_both("s := logsumexp[k in 1:2](a[k])", {{"a", a}}).item() == -inf);
    CHECK(run_both("s := norm[k](a[k])", {{"a", a}}).item() == inf);
}

TEST_CASE("0^0 is 1 in every type") {
    for (const DType dtype : real_types) {
        const Array zero = Array::zeros(dtype, {3});
        CHECK(run_both("y[i] := a[i]^a[i]", {{"a", zero}}).at({0}) == 1);
        CHECK(run_both("y[i] := a[i]^0", {{"a", zero}}).at({0}) == 1);
    }
}

}  // namespace
}  // namespace ricci::tests
