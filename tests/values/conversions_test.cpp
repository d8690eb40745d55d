// tests/values/conversions_test.cpp – explicit conversions between all types, and rounding
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

double real(const Array& array, std::int64_t place) { return array.at({place}); }

/// What the element becomes as an integer: the nearest one, towards 0, that there is.
Wide saturated(const Array& from, std::int64_t place, DType to) {
    Wide value = 0;
    if (is_whole(from.dtype())) {
        value = whole(from, place);
    } else {
        const double x = std::trunc(real(from, place));
        if (std::isnan(x)) return 0;
        value = static_cast<Wide>(std::min(std::max(x, -1e30), 1e30));
    }
    return value < least(to) ? least(to) : value > greatest(to) ? greatest(to) : value;
}

TEST_CASE("a conversion to an integer type saturates, of NaN it is 0") {
    for (const DType from : real_types) {
        for (const DType to : real_types) {
            if (!is_integer(to)) continue;
            INFO(format("{} to {}", name(from), name(to)));
            const Array a = edge_values(from);
            const Array y = run_both(format("y[i] := {}(a[i])", name(to)), {{"a", a}});
            REQUIRE(y.dtype() == to);
            for (std::int64_t i = 0; i < a.size(); ++i) CHECK(whole(y, i) == saturated(a, i, to));
        }
    }
}

TEST_CASE("a conversion to bool is whether the value is not 0") {
    for (const DType from : real_types) {
        CAPTURE(name(from));
        const Array a = edge_values(from);
        const Array y = run_both("y[i] := bool(a[i])", {{"a", a}});
        for (std::int64_t i = 0; i < a.size(); ++i)
            CHECK(y.span<bool>()[std::size_t(i)] != (real(a, i) == 0));
    }
}

TEST_CASE("a conversion to a floating type rounds to nearest even") {
    for (const DType from : real_types) {
        for (const DType to : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
            INFO(format("{} to {}", name(from), name(to)));
            const Array a = edge_values(from);
            const Array y = run_both(format("y[i] := {}(a[i])", name(to)), {{"a", a}});
            const Array expected = a.to(to);
            for (std::int64_t i = 0; i < a.size(); ++i) {
                const bool is_same = real(y, i) == real(expected, i) ||
                                     (std::isnan(real(y, i)) && std::isnan(real(expected, i)));
                CHECK(is_same);
            }
        }
    }
}

TEST_CASE("rounding to sixteen bits is right between all neighbours, in lanes and without") {
    for (const DType to : {DType::f16, DType::bf16}) {
        // Every number of the type, its neighbours' middles, and numbers beside these.
        std::vector<double> numbers;
        for (std::uint32_t bits = 0; bits < 0x7f80; bits += to == DType::f16 ? 7 : 13) {
            const auto low = static_cast<std::uint16_t>(bits);
            const auto high = static_cast<std::uint16_t>(bits + 1);
            const double x = to == DType::f16 ? double(Float16::from_bits(low))
                                              : double(BFloat16::from_bits(low));
            const double next = to == DType::f16 ? double(Float16::from_bits(high))
                                                 : double(BFloat16::from_bits(high));
            if (std::isinf(next) || std::isnan(next)) break;
            const double middle = (x + next) / 2;
            numbers.insert(numbers.end(),
                           {x, -middle, std::nextafter(middle, 0), -std::nextafter(middle, 1e39)});
        }
        const Array a = Array::from(std::span<const double>(numbers), {std::ssize(numbers)});
        for (const auto& each : {a, a.to(DType::f32)}) {
            const Array y = run_both(format("y[i] := {}(a[i])", name(to)), {{"a", each}});
            const Array expected = each.to(to);
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < a.size(); ++i) wrong += real(y, i) != real(expected, i);
            CHECK(wrong == 0);
            const Array scalar = run_both(format("s := {}(a[5])", name(to)), {{"a", each}});
            CHECK(scalar.item() == real(expected, 5));
        }
    }
}

TEST_CASE("literals are converted as values are") {
    CHECK(run_both("s := i8(300)", {}).item() == 127);
    CHECK(run_both("s := u8(-2.5)", {}).item() == 0);
    CHECK(run_both("s := i32(nan)", {}).item() == 0);
    CHECK(whole(run_both("s := u64(inf)", {}), 0) == greatest(DType::u64));
    CHECK(run_both("s := f16(0.1)", {}).item() == double(Float16(0.1)));
    CHECK(type_of("s := i16(2)", {}) == DType::i16);
}

TEST_CASE("half precision is computed in f32 and rounded where it is stored") {
    const Array a = Array::full(DType::f16, {3}, 60000);
    // The sum of two overflows f16, not f32.
    CHECK(run_both("y[i] := (a[i] + a[i])/4", {{"a", a}}).at({0}) == 30000);
    CHECK(std::isinf(run_both("y[i] := a[i] + a[i]", {{"a", a}}).at({0})));
    CHECK(run_both("s := mean[i](a[i])", {{"a", a}}).item() == 60000);
    CHECK(std::isinf(run_both("s := sum[i](a[i])", {{"a", a}}).item()));
    const Array ones = Array::full(DType::f16, {5000}, 1);
    CHECK(run_both("s := sum[i](a[i])", {{"a", ones}}).item() == 5000);
    CHECK(run_both("y[i] := f16(a[i] + a[i])/4", {{"a", a}}).at({0}) == HUGE_VAL);
}

}  // namespace
}  // namespace ricci::tests
