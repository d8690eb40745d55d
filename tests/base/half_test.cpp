// tests/base/half_test.cpp – rounding to sixteen bits
#include "base/half.h"

#include <cmath>
#include <initializer_list>
#include <limits>

#include <doctest/doctest.h>

using ricci::BFloat16;
using ricci::Float16;

namespace {

/// The number of f16 nearest to the value, found by halving between all of them.
template <class T>
double nearest(double value) {
    std::uint16_t low = 0;
    std::uint16_t high = sizeof(T) == 2 ? T(std::numeric_limits<double>::infinity()).bits() : 0;
    const auto at = [](std::uint16_t bits) { return static_cast<double>(T::from_bits(bits)); };
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (at(middle) <= value ? low : high) = middle;
    }
    // Infinity stands where the next number would.
    const double step = at(low) - at(static_cast<std::uint16_t>(low - 1));
    const double above = std::isinf(at(high)) ? at(low) + step : at(high);
    const double to_low = value - at(low);
    const double to_high = above - value;
    const bool takes_low = to_low < to_high || (to_low == to_high && low % 2 == 0);
    return at(takes_low ? low : high);
}

template <class T>
void check_rounding() {
    for (std::uint32_t bits = 1; bits < T(INFINITY).bits(); ++bits) {
        const auto x = T::from_bits(static_cast<std::uint16_t>(bits));
        const auto next = T::from_bits(static_cast<std::uint16_t>(bits + 1));
        const auto value = static_cast<double>(x);
        const double above = std::isinf(static_cast<double>(next)) ? value : double(next);
        const double middle = value + (above - value) / 2;
        bool is_right = T(value).bits() == bits && T(-value).bits() == (bits | 0x8000U);
        // Around the middle, also by less than a float can tell.
        for (const double each : {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e9),
                                  middle * (1 + 1e-9), middle * (1 - 1e-9)})
            is_right = is_right && static_cast<double>(T(each)) == nearest<T>(each);
        if (!is_right) FAIL_CHECK("rounded wrongly around the bits ", bits);
    }
}

}  // namespace

TEST_CASE("a number is rounded once to the nearest of sixteen bits, ties to even") {
    check_rounding<Float16>();
    check_rounding<BFloat16>();
}

TEST_CASE("numbers of sixteen bits overflow to infinity, keep NaN and the sign of zero") {
    CHECK(static_cast<double>(Float16(65519.0)) == 65504);
    CHECK(std::isinf(static_cast<double>(Float16(65520.0))));
    CHECK(std::isinf(static_cast<double>(Float16(1e300))));
    CHECK(std::isnan(static_cast<double>(Float16(NAN))));
    CHECK(std::isnan(static_cast<double>(BFloat16(NAN))));
    CHECK(std::isinf(static_cast<double>(BFloat16(3.4e38))));
    CHECK(Float16(-0.0).bits() == 0x8000);
    CHECK(BFloat16(-0.0).bits() == 0x8000);
    CHECK(Float16(1e-12).bits() == 0);
    CHECK(static_cast<double>(Float16(0x1p-24)) == 0x1p-24);
}
