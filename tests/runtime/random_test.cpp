// tests/runtime/random_test.cpp – the same numbers everywhere, with the right moments
#include "runtime/random.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "runtime/array.h"
#include "tests/support/error_text.h"

namespace ricci {
namespace {

// The expected values were made by Python's statistics.NormalDist, an independent AS 241.
TEST_CASE("the normal quantile agrees with an independent implementation") {
    CHECK(runtime::normal_quantile(0.5) == 0);
    CHECK(runtime::normal_quantile(0.3) == doctest::Approx(-0.5244005127080407).epsilon(1e-15));
    CHECK(runtime::normal_quantile(0.05) == doctest::Approx(-1.6448536269514726).epsilon(1e-15));
    CHECK(runtime::normal_quantile(0.999) == doctest::Approx(3.090232306167813).epsilon(1e-15));
    CHECK(runtime::normal_quantile(1e-13) == doctest::Approx(-7.3487961028006765).epsilon(1e-15));
}

TEST_CASE("randn gives the same values for the same seed") {
    const Array a = Array::randn(DType::f64, {4});
    CHECK(a.at({0}) == 0.3919393499913908);
    CHECK(a.at({1}) == 0.5278898628993066);
    CHECK(a.at({2}) == -0.28682243730897145);
    CHECK(a.at({3}) == 0.40269503640924154);
    CHECK(Array::randn(DType::f64, {1}, 7).item() == 0.5873277031936722);
}

TEST_CASE("randn has mean 0 and variance 1") {
    const Array a = Array::randn(DType::f64, {100'000}, 3);
    double sum = 0;
    double squares = 0;
    for (const double x : a.span<double>()) {
        sum += x;
        squares += x * x;
    }
    CHECK(std::abs(sum / 1e5) < 0.01);
    CHECK(std::abs(squares / 1e5 - 1) < 0.02);
}

TEST_CASE("rand stays below 1 in f32 too") {
    const Array a = Array::rand(DType::f32, {100'000}, 1);
    const auto [low, high] = std::ranges::minmax(a.span<float>());
    CHECK(low >= 0);
    CHECK(low < 1e-3F);
    CHECK(high < 1);
    CHECK(high > 0.999F);
}

TEST_CASE("randint covers its range and no more") {
    const Array a = Array::randint(DType::i32, {1000}, -2, 3, 5);
    const auto [low, high] = std::ranges::minmax(a.span<std::int32_t>());
    CHECK(low == -2);
    CHECK(high == 2);
    CHECK(tests::error_text([] { (void)Array::randint(DType::i32, {1}, 3, 3); }) ==
          "range: random integers from an empty range 3:3");
}

TEST_CASE("random values of an integer type are an error") {
    CHECK(tests::error_text([] { (void)Array::randn(DType::i32, {1}); }) ==
          "type: random values of type i32 are not floating\n"
          "  = hint: use f32 or f64, or randint");
}

}  // namespace
}  // namespace ricci
