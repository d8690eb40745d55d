// tests/values/arithmetic_test.cpp – every operation of every pair of types: exact for integers
#include <map>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

struct Quotient {
    Wide quotient;
    Wide rest;
};
/// Rounded down; by zero both are 0.
Quotient divide(Wide a, Wide b) {
    if (b == 0) return {0, 0};
    Quotient result{a / b, a % b};
    if (result.rest != 0 && (result.rest < 0) != (b < 0)) {
        --result.quotient;
        result.rest += b;
    }
    return result;
}

/// The power modulo 2^64; of a negative exponent one over it, rounded towards 0.
Wide power(Wide a, Wide b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    Wide result = 1;
    Wide factor = low_bits(a, DType::u64);
    for (; b > 0;
         b /= 2, factor = low_bits(Wide(std::uint64_t(factor) * std::uint64_t(factor)), DType::u64))
        if (b % 2 == 1) result = Wide(std::uint64_t(result) * std::uint64_t(factor));
    return result;
}

/// An operation of whole numbers of the common type, before its low bits are taken.
struct Exact {
    std::string_view text;
    Wide (*value)(Wide a, Wide b);
    bool gives_bool = false;
    bool keeps_bool = false;
};

const Exact exact_operations[] = {
    {"a[i] + b[j]", [](Wide a, Wide b) { return a + b; }},
    {"a[i] - b[j]", [](Wide a, Wide b) { return a - b; }},
    {"a[i]*b[j]", [](Wide a, Wide b) { return low_bits(a, DType::i64) * low_bits(b, DType::i64); }},
    {"a[i] // b[j]", [](Wide a, Wide b) { return divide(a, b).quotient; }},
    {"a[i] % b[j]", [](Wide a, Wide b) { return divide(a, b).rest; }},
    {"a[i]^b[j]", power},
    {"fma(a[i], b[j], a[i])",
     [](Wide a, Wide b) { return low_bits(a, DType::i64) * low_bits(b, DType::i64) + a; }},
    {"min(a[i], b[j])", [](Wide a, Wide b) { return a < b ? a : b; }, false, true},
    {"max(a[i], b[j])", [](Wide a, Wide b) { return a < b ? b : a; }, false, true},
    {"clamp(a[i], b[j], b[j])", [](Wide, Wide b) { return b; }, false, true},
    {"select(a[i], b[j], a[i])", [](Wide a, Wide b) { return a != 0 ? b : a; }, false, true},
    {"a[i] == b[j]", [](Wide a, Wide b) { return Wide{a == b}; }, true},
    {"a[i] != b[j]", [](Wide a, Wide b) { return Wide{a != b}; }, true},
    {"a[i] < b[j]", [](Wide a, Wide b) { return Wide{a < b}; }, true},
    {"a[i] <= b[j]", [](Wide a, Wide b) { return Wide{a <= b}; }, true},
    {"a[i] > b[j]", [](Wide a, Wide b) { return Wide{a > b}; }, true},
    {"a[i] >= b[j]", [](Wide a, Wide b) { return Wide{a >= b}; }, true},
    {"a[i] && b[j]", [](Wide a, Wide b) { return Wide{a != 0 && b != 0}; }, true},
    {"a[i] || b[j]", [](Wide a, Wide b) { return Wide{a != 0 || b != 0}; }, true},
    {"-a[i]", [](Wide a, Wide) { return -a; }},
    {"!a[i]", [](Wide a, Wide) { return Wide{a == 0}; }, true},
    {"abs(a[i])", [](Wide a, Wide) { return a < 0 ? -a : a; }},
    {"abs2(a[i])", [](Wide a, Wide) { return low_bits(a, DType::i64) * low_bits(a, DType::i64); }},
    {"sign(a[i])", [](Wide a, Wide) { return Wide{a > 0} - Wide{a < 0}; }},
    {"relu(a[i])", [](Wide a, Wide) { return a < 0 ? 0 : a; }},
    {"a[i]^3", [](Wide a, Wide) { return power(a, 3); }},
    {"imag(a[i])", [](Wide, Wide) { return Wide{0}; }},
    {"round(a[i])", [](Wide a, Wide) { return a; }},
};

/// One program with a statement for each operation.
struct Table {
    std::string text;
    std::vector<std::string> outputs;
};
template <class List>
Table statements(const List& operations) {
    Table table;
    for (const auto& operation : operations) {
        table.outputs.push_back(format("y{}", table.outputs.size()));
        table.text += format("{}[i,j] := {}\n", table.outputs.back(), operation.text);
        const bool reads_both = operation.text.find("b[j]") != std::string_view::npos;
        if (!reads_both) table.text.insert(table.text.size() - 1, " where j in 0:2");
    }
    return table;
}

/// The common type of the operands of an operation that reads `a` and perhaps `b`.
DType common_type(const Exact& operation, DType a, DType b) {
    const bool reads_both = operation.text.find("b[j]") != std::string_view::npos;
    const DType common = reads_both ? promote(a, b).value_or(DType::none) : a;
    return common == DType::boolean && !operation.keeps_bool ? DType::i64 : common;
}

void check_exactly(const Exact& operation, const Array& a, const Array& b, const Array& y) {
    const DType common = common_type(operation, a.dtype(), b.dtype());
    const DType result = operation.gives_bool ? DType::boolean : common;
    REQUIRE(y.dtype() == result);
    const std::int64_t columns = y.extent(1);
    for (std::int64_t i = 0; i < a.size(); ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
            const Wide x = whole(a, i);
            const Wide z = whole(b, j);
            const Wide exact = operation.value(x, z);
            const Wide expected =
                operation.gives_bool || result == DType::boolean ? exact : low_bits(exact, result);
            if (whole(y, i * columns + j) == expected) continue;
            FAIL_CHECK(format("{} of {} and {} for {} and {}: {} instead of {}", operation.text,
                              name(a.dtype()), name(b.dtype()), std::int64_t(x), std::int64_t(z),
                              std::int64_t(whole(y, i * columns + j)), std::int64_t(expected)));
            return;
        }
    }
}

TEST_CASE("integers and bool are computed exactly, then their low bits are taken") {
    const Table table = statements(exact_operations);
    for (const DType a : real_types) {
        for (const DType b : real_types) {
            if (!is_whole(a) || !is_whole(b) || !promote(a, b)) continue;
            CAPTURE(name(a));
            CAPTURE(name(b));
            const Arguments arguments = {{"a", edge_values(a)}, {"b", edge_values(b)}};
            const std::vector<Array> y = run_both(table.text, arguments, table.outputs);
            for (std::size_t n = 0; n < y.size(); ++n)
                check_exactly(exact_operations[n], arguments[0].second, arguments[1].second, y[n]);
        }
    }
}

struct Floating {
    std::string_view text;
};
constexpr Floating floating_operations[] = {{"a[i] + b[j]"},
                                            {"a[i] - b[j]"},
                                            {"a[i]*b[j]"},
                                            {"a[i]/b[j]"},
                                            {"a[i] // b[j]"},
                                            {"a[i] % b[j]"},
                                            {"a[i]^b[j]"},
                                            {"fma(a[i], b[j], a[i])"},
                                            {"min(a[i], b[j])"},
                                            {"max(a[i], b[j])"},
                                            {"hypot(a[i], b[j])"},
                                            {"atan2(a[i], b[j])"},
                                            {"clamp(a[i], b[j], b[j])"},
                                            {"select(a[i] > 0, b[j], a[i])"},
                                            {"a[i] == b[j]"},
                                            {"a[i] != b[j]"},
                                            {"a[i] < b[j]"},
                                            {"a[i] <= b[j]"},
                                            {"a[i] > b[j]"},
                                            {"a[i] >= b[j]"},
                                            {"leaky_relu(a[i], 0.1)"},
                                            {"angle(a[i])"},
                                            {"floor(a[i])"},
                                            {"round(a[i])"},
                                            {"trunc(a[i])"},
                                            {"ceil(a[i])"},
                                            {"sign(a[i])"},
                                            {"relu(a[i])"},
                                            {"isnan(a[i])"},
                                            {"isfinite(a[i])"},
                                            {"a[i] ? 1 : 0"},
                                            {"0.1*a[i]"},
                                            {"a[i] < 2.5"},
                                            {"sqrt(abs(a[i]))"}};

TEST_CASE("every operation of a floating type with any type is that of the reference") {
    const Table table = statements(floating_operations);
    for (const DType a : real_types) {
        for (const DType b : real_types) {
            if (is_whole(a) && is_whole(b)) continue;
            CAPTURE(name(a));
            CAPTURE(name(b));
            (void)run_both(table.text, {{"a", edge_values(a)}, {"b", edge_values(b)}},
                           table.outputs);
        }
    }
}

TEST_CASE("integers divide and enter functions as f64") {
    for (const DType dtype : real_types) {
        if (!is_whole(dtype)) continue;
        CAPTURE(name(dtype));
        const Array a = edge_values(dtype);
        const Array y = run_both("y[i] := a[i]/4", {{"a", a}});
        for (std::int64_t i = 0; i < a.size(); ++i)
            CHECK(y.span<double>()[std::size_t(i)] == static_cast<double>(whole(a, i)) / 4);
        (void)run_both("y[i] := exp(a[i]/100) + hypot(a[i], 1)", {{"a", a}});
    }
}

TEST_CASE("integers compare with numbers beyond their type by value") {
    const Array a = edge_values(DType::u64);
    const Array y = run_both("y[i] := (a[i] > -1) && (a[i] != -1) && !(a[i] <= -3)", {{"a", a}});
    for (const bool each : y.span<bool>()) CHECK(each);
    const Array z = run_both("z[i] := a[i] > n - 5", {{"a", a}, {"n", Array(3)}});
    for (const bool each : z.span<bool>()) CHECK(each);
    const Array b = edge_values(DType::i8);
    const Array w = run_both("w[i] := b[i] < i*300 + 128 && b[i] > -1000", {{"b", b}});
    for (const bool each : w.span<bool>()) CHECK(each);
}

TEST_CASE("values of indices keep their low bits in a narrow type") {
    const Array a = Array::zeros(DType::u8, {600});
    const Array y = run_both("y[i] := a[i] + i", {{"a", a}});
    for (std::int64_t i = 0; i < 600; ++i) CHECK(whole(y, i) == i % 256);
}

TEST_CASE("a chain of operands is computed from left to right, each in its own type") {
    const Array a = Array::full(DType::i8, {5}, 100);
    const Array b = Array::full(DType::i32, {5}, 1);
    CHECK(whole(run_both("y[i] := a[i] + a[i] + b[i]", {{"a", a}, {"b", b}}), 0) == -55);
    CHECK(whole(run_both("y[i] := b[i] + a[i] + a[i]", {{"a", a}, {"b", b}}), 0) == 201);
    CHECK(whole(run_both("y[i] := b[i] - a[i] - a[i]", {{"a", a}, {"b", b}}), 0) == -199);
    const Array u = Array::full(DType::u8, {5}, 200);
    CHECK(whole(run_both("y[i] := b[i] - u[i]", {{"u", u}, {"b", b}}), 0) == -199);
    CHECK(whole(run_both("y[i] := u[i] - 201", {{"u", u}}), 0) == 255);
}

}  // namespace
}  // namespace ricci::tests
