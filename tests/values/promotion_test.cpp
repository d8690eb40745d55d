// tests/values/promotion_test.cpp – the type of every operation for every pair of types
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/support/error_text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

// numpy.result_type of each pair within a kind (numpy 2), an integer or bool with a floating type
// by the contract: the floating type. `-`: there is none.
constexpr std::string_view promotions = R"(
       bool i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64
bool   bool i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64
i8     i8   i8   i16  i32  i64  i16  i32  i64  -    f16  bf16 f32  f64
i16    i16  i16  i16  i32  i64  i16  i32  i64  -    f16  bf16 f32  f64
i32    i32  i32  i32  i32  i64  i32  i32  i64  -    f16  bf16 f32  f64
i64    i64  i64  i64  i64  i64  i64  i64  i64  -    f16  bf16 f32  f64
u8     u8   i16  i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64
u16    u16  i32  i32  i32  i64  u16  u16  u32  u64  f16  bf16 f32  f64
u32    u32  i64  i64  i64  i64  u32  u32  u32  u64  f16  bf16 f32  f64
u64    u64  -    -    -    -    u64  u64  u64  u64  f16  bf16 f32  f64
f16    f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f32  f64
bf16   bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32  bf16 f32  f64
f32    f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64
f64    f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
)";

using Pair = std::pair<DType, DType>;

/// The common type of each pair; `none` where there is none.
const std::map<Pair, DType>& common_types() {
    static const std::map<Pair, DType> table = [] {
        std::map<Pair, DType> result;
        std::istringstream lines{std::string(promotions)};
        std::string word;
        for (std::size_t n = 0; n < real_types.size(); ++n) lines >> word;
        for (const DType a : real_types) {
            lines >> word;
            REQUIRE(word == name(a));
            for (const DType b : real_types) {
                lines >> word;
                result[{a, b}] = dtype_from_name(word).value_or(DType::none);
            }
        }
        return result;
    }();
    return table;
}

/// How the type of a result follows from the common type of the operands.
enum class Rule { arithmetic, floating, truth, kept };

DType expected(Rule rule, DType common) {
    const bool is_whole = is_integer(common) || common == DType::boolean;
    if (rule == Rule::truth) return DType::boolean;
    if (rule == Rule::floating && is_whole) return DType::f64;
    if (rule == Rule::arithmetic && common == DType::boolean) return DType::i64;
    return common;
}

struct Form {
    std::string_view text;
    Rule rule;
};

constexpr Form binary_forms[] = {{"a[i] + b[i]", Rule::arithmetic},
                                 {"a[i] - b[i]", Rule::arithmetic},
                                 {"a[i]*b[i]", Rule::arithmetic},
                                 {"a[i] // b[i]", Rule::arithmetic},
                                 {"a[i] % b[i]", Rule::arithmetic},
                                 {"a[i]^b[i]", Rule::arithmetic},
                                 {"a[i]/b[i]", Rule::floating},
                                 {"fma(a[i], b[i], a[i])", Rule::arithmetic},
                                 {"atan2(a[i], b[i])", Rule::floating},
                                 {"hypot(a[i], b[i])", Rule::floating},
                                 {"min(a[i], b[i])", Rule::kept},
                                 {"max(a[i], b[i])", Rule::kept},
                                 {"clamp(a[i], b[i], b[i])", Rule::kept},
                                 {"select(i > 1, a[i], b[i])", Rule::kept},
                                 {"a[i] == b[i]", Rule::truth},
                                 {"a[i] != b[i]", Rule::truth},
                                 {"a[i] < b[i]", Rule::truth},
                                 {"a[i] <= b[i]", Rule::truth},
                                 {"a[i] > b[i]", Rule::truth},
                                 {"a[i] >= b[i]", Rule::truth}};

constexpr Form unary_forms[] = {
    {"-a[i]", Rule::arithmetic},          {"abs(a[i])", Rule::arithmetic},
    {"abs2(a[i])", Rule::arithmetic},     {"sign(a[i])", Rule::arithmetic},
    {"relu(a[i])", Rule::arithmetic},     {"floor(a[i])", Rule::arithmetic},
    {"ceil(a[i])", Rule::arithmetic},     {"round(a[i])", Rule::arithmetic},
    {"trunc(a[i])", Rule::arithmetic},    {"real(a[i])", Rule::arithmetic},
    {"imag(a[i])", Rule::arithmetic},     {"conj(a[i])", Rule::arithmetic},
    {"angle(a[i])", Rule::floating},      {"leaky_relu(a[i])", Rule::floating},
    {"isnan(a[i])", Rule::truth},         {"isinf(a[i])", Rule::truth},
    {"isfinite(a[i])", Rule::truth},      {"!a[i]", Rule::truth},
    {"a[i] && a[i]", Rule::truth},        {"a[i] || a[i]", Rule::truth},
    {"a[i]^2", Rule::arithmetic},         {"a[i]^(-1)", Rule::floating},
    {"a[i] + 1", Rule::arithmetic},       {"2*a[i]", Rule::arithmetic},
    {"a[i] - i", Rule::arithmetic},       {"a[i] % size(a, 0)", Rule::arithmetic},
    {"a[i] + 1.5", Rule::floating},       {"pi*a[i]", Rule::floating},
    {"a[i]/2", Rule::floating},           {"a[i] < 2.5", Rule::truth},
    {"a[i] + sqrt(4)", Rule::floating},   {"a[i]*(i > 2)", Rule::arithmetic},
    {"max(a[i], i > 2)", Rule::kept},     {"a[i] == i", Rule::truth},
    {"a[i] ? true : false", Rule::truth}, {"exp(a[i])", Rule::floating},
    {"gelu(a[i])", Rule::floating},       {"lgamma(a[i])", Rule::floating},
    {"sigmoid(a[i])", Rule::floating},    {"erfc(a[i])", Rule::floating}};

Arguments pair_of(DType a, DType b) {
    return {{"a", small_values(a, 7)}, {"b", small_values(b, 7)}};
}

TEST_CASE("two types have the common type of the array API, or none") {
    for (const DType a : real_types)
        for (const DType b : real_types)
            CHECK(promote(a, b).value_or(DType::none) == common_types().at({a, b}));
}

TEST_CASE("the type of an operation of two arrays follows from their common type") {
    for (const auto& [types, common] : common_types()) {
        for (const Form& form : binary_forms) {
            const std::string text = format("y[i] := {}", form.text);
            INFO(format("{} of {} and {}", text, name(types.first), name(types.second)));
            const Arguments arguments = pair_of(types.first, types.second);
            if (common == DType::none)
                CHECK(error_text([&] { (void)type_of(text, arguments); }).starts_with("type: "));
            else
                CHECK(type_of(text, arguments) == expected(form.rule, common));
        }
    }
}

TEST_CASE("the type of an operation of one array follows from its type") {
    for (const DType dtype : real_types) {
        for (const Form& form : unary_forms) {
            const std::string text = format("y[i] := {}", form.text);
            INFO(format("{} of {}", text, name(dtype)));
            CHECK(type_of(text, {{"a", small_values(dtype, 7)}}) == expected(form.rule, dtype));
        }
    }
}

TEST_CASE("numbers that the caller gives are weak") {
    for (const DType dtype : real_types) {
        CAPTURE(name(dtype));
        const auto with = [&](const Array& number) {
            return type_of("y[i] := c*a[i]", {{"a", small_values(dtype, 7)}, {"c", number}});
        };
        CHECK(with(Array(3)) == expected(Rule::arithmetic, dtype));
        CHECK(with(Array(2.5)) == expected(Rule::floating, dtype));
    }
}

TEST_CASE("terms of numbers alone are i64, f64 or bool") {
    CHECK(type_of("y[i] := i*i where i in 0:3", {}) == DType::i64);
    CHECK(type_of("y[i] := i/2 where i in 0:3", {}) == DType::f64);
    CHECK(type_of("y[i] := i + 0.5 where i in 0:3", {}) == DType::f64);
    CHECK(type_of("y[i] := i > 1 where i in 0:3", {}) == DType::boolean);
    CHECK(type_of("y[i] := i^(-2) where i in 0:3", {}) == DType::f64);
    CHECK(type_of("s := 2", {}) == DType::i64);
    CHECK(type_of("s := true", {}) == DType::boolean);
}

TEST_CASE("a reduction has the type of its values, and sums of integers have 64 bits") {
    for (const DType dtype : real_types) {
        CAPTURE(name(dtype));
        const auto of = [&](std::string_view reducer) {
            return type_of(format("s := {}[i](a[i])", reducer), {{"a", small_values(dtype, 7)}});
        };
        const bool is_whole = is_integer(dtype) || dtype == DType::boolean;
        const bool has_sign = is_signed(dtype) || dtype == DType::boolean;
        const DType wide = !is_whole ? dtype : has_sign ? DType::i64 : DType::u64;
        CHECK(of("sum") == wide);
        CHECK(of("prod") == wide);
        CHECK(of("max") == dtype);
        CHECK(of("min") == dtype);
        CHECK(of("mean") == expected(Rule::floating, dtype));
        CHECK(of("norm") == expected(Rule::floating, dtype));
        CHECK(of("logsumexp") == expected(Rule::floating, dtype));
        CHECK(of("any") == DType::boolean);
        CHECK(of("all") == DType::boolean);
        CHECK(of("count") == DType::i64);
        CHECK(of("argmax") == DType::i64);
        CHECK(of("argmin") == DType::i64);
    }
}

TEST_CASE("counts and positions are no weak numbers") {
    const Arguments arguments = {{"a", small_values(DType::i8, 7)}};
    CHECK(type_of("y[i] := a[i] + count[k](a[k] > 0)", arguments) == DType::i64);
    CHECK(type_of("y[i] := a[i] + argmax[k](a[k])", arguments) == DType::i64);
    CHECK(type_of("y[i] := a[i] + sum[k in 0:3](k)", arguments) == DType::i8);
}

TEST_CASE("a chain of operands is typed from left to right") {
    const Arguments arguments = {{"a", small_values(DType::i8, 7)},
                                 {"b", small_values(DType::f32, 7)}};
    CHECK(type_of("y[i] := 0.5*a[i]*b[i]", arguments) == DType::f64);
    CHECK(type_of("y[i] := 0.5*b[i]*a[i]", arguments) == DType::f32);
    CHECK(type_of("y[i] := 2*a[i]*b[i]", arguments) == DType::f32);
    CHECK(type_of("y[i] := (a[i] > 0) + (a[i] > 1) + a[i]", arguments) == DType::i64);
    CHECK(type_of("y[i] := a[i] - (a[i] > 1)", arguments) == DType::i8);
}

TEST_CASE("under a sum integers are computed in 64 bits of the promoted type's sign") {
    const Arguments arguments = {{"a", small_values(DType::u8, 7)},
                                 {"b", small_values(DType::i8, 7)},
                                 {"c", small_values(DType::u32, 7)}};
    CHECK(type_of("s := a[i]*b[i]", arguments) == DType::i64);
    CHECK(type_of("s := a[i]*c[i]", arguments) == DType::u64);
    CHECK(type_of("s := sum[i](a[i] - 1)", arguments) == DType::u64);
    CHECK(type_of("s := sum[i](max[j](a[i]*a[j]))", arguments) == DType::u64);
}

TEST_CASE("integers that no type holds together are an error that names both types") {
    const Arguments arguments = {{"a", small_values(DType::u64, 3)},
                                 {"b", small_values(DType::i32, 3)}};
    CHECK(error_text([&] { (void)type_of("y[i] := 2*a[i] + b[i]", arguments); }) ==
          "type: `2*a[i] + b[i]` combines u64 with i32\n"
          "  | y[i] := 2*a[i] + b[i]\n"
          "  |         ^^^^^^^^^^^^^\n"
          "  = hint: convert one of them, as in `i64(…)`");
}

TEST_CASE("a number that its type cannot hold is an error") {
    const auto of = [](const std::string& text, DType dtype) {
        return error_text([&] { (void)type_of(text, {{"a", small_values(dtype, 300)}}); });
    };
    CHECK(of("y[i] := a[i]*300", DType::i8) ==
          "type: the number 300 does not fit the type i8\n"
          "  | y[i] := a[i]*300\n"
          "  |              ^^^\n"
          "  = hint: convert what it is combined with, as in `i64(…)`");
    CHECK(of("y[i] := a[i] % size(a, 0)", DType::u8).starts_with("type: the number 300 does not"));
    CHECK(of("y[i] := max(a[i], -1)", DType::u16).starts_with("type: the number -1 does not fit"));
    CHECK(of("a[i] = 256", DType::u8).starts_with("type: the number 256 does not fit the type u8"));
    CHECK(of("a[i] = -1", DType::u8).starts_with("type: the number -1 does not fit the type u8"));
    // A difference is one operation, a comparison is of numbers, a sum has 64 bits.
    CHECK(of("y[i] := a[i] - 255", DType::u8) == "no error");
    CHECK(of("a[i] -= 1", DType::u8) == "no error");
    CHECK(of("y[i] := a[i] < 300", DType::u8) == "no error");
    CHECK(of("y := a[i]*300", DType::u8) == "no error");
}

TEST_CASE("a value is not stored in an array of a lower kind") {
    const auto of = [](const std::string& text, DType a, DType b) {
        return error_text([&] { (void)type_of(text, pair_of(a, b)); });
    };
    CHECK(of("a[i] = b[i]", DType::i32, DType::f32) ==
          "type: `a` has the type i32 and cannot take f32 values\n"
          "  | a[i] = b[i]\n"
          "  | ^^^^^^^^^^^\n"
          "  = hint: convert the value: `i32(…)`");
    CHECK(of("a[i] += 0.5", DType::i32, DType::i32)
              .starts_with("type: `a` has the type i32 and cannot take f64 values"));
    CHECK(of("a[i] = b[i]", DType::boolean, DType::i8)
              .starts_with("type: `a` has the type bool and cannot take i8 values"));
    CHECK(of("a[i] += b[i]", DType::boolean, DType::boolean)
              .starts_with("type: `a` has the type bool and cannot take i64 values"));
    CHECK(of("a[i] *= b[i] where i in 0:3", DType::boolean, DType::boolean)
              .starts_with("type: `a` has the type bool and cannot take i64 values"));
    for (const auto& [to, from] :
         {Pair{DType::i8, DType::i64}, Pair{DType::u8, DType::i8}, Pair{DType::f32, DType::f64},
          Pair{DType::f16, DType::f64}, Pair{DType::f32, DType::i64}, Pair{DType::i8, DType::u64},
          Pair{DType::i32, DType::boolean}})
        CHECK(of("a[i] = b[i]", to, from) == "no error");
}

}  // namespace
}  // namespace ricci::tests
