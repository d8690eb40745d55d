// tests/codegen_cpu/operations_test.cpp – arithmetic, comparisons and conversions at their edges
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "tests/codegen_cpu/kernel_support.h"

namespace ricci::tests {
namespace {

using namespace codegen;

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
constexpr DType dtype_of = DType::none;
template <>
constexpr DType dtype_of<float> = DType::f32;
template <>
constexpr DType dtype_of<double> = DType::f64;
template <>
constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
constexpr DType dtype_of<std::uint8_t> = DType::boolean;

/// value(loads) for every element, in lanes and scalar alike.
template <class Result, class T>
std::vector<Result> map(const std::vector<std::vector<T>>& args, const Target& target,
                        std::int64_t lanes, auto&& value) {
    Builder b("map");
    const auto n = std::int64_t(args[0].size());
    const VarId lane = b.var("lane");
    const AffineForm at = form(b.task, lanes) + form(lane);
    std::vector<Value> loads;
    std::vector<void*> buffers;
    for (const auto& arg : args) {
        loads.push_back(b.load(b.argument("x", dtype_of<T>, n), at));
        buffers.push_back(const_cast<T*>(arg.data()));
    }
    const BufferId y = b.argument("y", dtype_of<Result>, n, true);
    std::vector<Result> result(args[0].size());
    buffers.push_back(result.data());
    const std::int64_t tasks = (n + lanes - 1) / lanes;
    LoopBound upper = with(bound(lanes), form(n) - form(b.task, lanes));
    run(b.finish(tasks, {make_loop(lane, Bind::vector, bound(0), upper,
                                   {make_store(y, {at}, value(loads))})}),
        target, tasks, buffers);
    return result;
}

/// One operation, by lanes of eight and one by one, which must agree.
template <class Result, class T>
std::vector<Result> apply(Op op, const std::vector<std::vector<T>>& args, const Target& target) {
    const auto value = [&](const std::vector<Value>& loads) {
        return make_operation(op, loads, dtype_of<Result>);
    };
    const auto result = map<Result, T>(args, target, 8, value);
    CHECK(map<Result, T>(args, target, 1, value) == result);
    return result;
}

TEST_CASE("integer quotients and remainders are rounded down, by zero they are 0") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        const std::vector<std::int64_t> a = {7, -7, 7, -7, 5, least, 6, -6, 0};
        const std::vector<std::int64_t> b = {2, 2, -2, -2, 0, -1, -1, 3, 0};
        CHECK(apply<std::int64_t, std::int64_t>(Op::floordiv, {a, b}, target) ==
              std::vector<std::int64_t>{3, -4, -4, 3, 0, least, -6, -2, 0});
        CHECK(apply<std::int64_t, std::int64_t>(Op::mod, {a, b}, target) ==
              std::vector<std::int64_t>{1, 1, -1, -1, 0, 0, 0, 0, 0});
    }
}

TEST_CASE("quotients by constants are rounded down") {
    const std::vector<std::int64_t> a = {-9, -8, -7, -1, 0, 1, 7, 8, 9};
    const auto by = [&](Op op, std::int64_t divisor) {
        return map<std::int64_t, std::int64_t>({a}, cpu::host_target(), 4, [&](const auto& loads) {
            return make_operation(op, {loads[0], make_integer(divisor)}, DType::i64);
        });
    };
    CHECK(by(Op::floordiv, 8) == std::vector<std::int64_t>{-2, -1, -1, -1, 0, 0, 0, 1, 1});
    CHECK(by(Op::mod, 8) == std::vector<std::int64_t>{7, 0, 1, 7, 0, 1, 7, 0, 1});
    CHECK(by(Op::floordiv, 3) == std::vector<std::int64_t>{-3, -3, -3, -1, 0, 0, 2, 2, 3});
    CHECK(by(Op::mod, 3) == std::vector<std::int64_t>{0, 1, 2, 2, 0, 1, 1, 2, 0});
}

TEST_CASE("integers wrap") {
    CHECK(apply<std::int64_t, std::int64_t>(Op::add, {{greatest}, {1}}, cpu::host_target()) ==
          std::vector<std::int64_t>{least});
    CHECK(apply<std::int64_t, std::int64_t>(Op::pow, {{3, -2, 0, 2}, {4, 3, 0, 64}},
                                            cpu::host_target()) ==
          std::vector<std::int64_t>{81, -8, 1, 0});
}

TEST_CASE("floating quotients and remainders are of the exact quotient, rounded down") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        const std::vector<double> a = {7, -7, 7, -7, 1, -1, -6, 1e300, inf, -5, 5, -0.0};
        const std::vector<double> b = {2, 2, -2, -2, 0.1, 0.1, 3, 3, 2, inf, inf, 3};
        CHECK(apply<double, double>(Op::floordiv, {a, b}, target) ==
              std::vector<double>{3, -4, -4, 3, 9, -10, -2, 1e300 / 3, inf, -1, 0, 0});
        const std::vector<double> c = {7, -7, 7, -7, 1, -6, -5, 5};
        const std::vector<double> d = {2, 2, -2, -2, 0.1, 3, inf, inf};
        CHECK(apply<double, double>(Op::mod, {c, d}, target) ==
              std::vector<double>{1, 1, -1, -1, std::fmod(1, 0.1), 0, inf, 5});
    }
}

TEST_CASE("a floating quotient by zero is infinite or NaN, a remainder NaN") {
    const auto by_zero = [](Op op) {
        return map<double, double>(
            {{1, -1, 0, nan}, {0, 0, 0, 0}}, cpu::host_target(), 4,
            [&](const auto& loads) { return make_operation(op, loads, DType::f64); });
    };
    const std::vector<double> quotients = by_zero(Op::floordiv);
    CHECK(quotients[0] == inf);
    CHECK(quotients[1] == -inf);
    CHECK(std::isnan(quotients[2]));
    CHECK(std::isnan(quotients[3]));
    for (const double rest : by_zero(Op::mod)) CHECK(std::isnan(rest));
}

TEST_CASE("one over an integer power is rounded towards 0") {
    CHECK(apply<std::int64_t, std::int64_t>(Op::pow, {{1, -1, -1, 2, 0}, {-3, -3, -2, -1, -1}},
                                            cpu::host_target()) ==
          std::vector<std::int64_t>{1, -1, 1, 0, 0});
}

TEST_CASE("max and min give NaN where one operand is") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        const std::vector<float> a = {1, float(nan), 3, float(nan)};
        const std::vector<float> b = {2, 2, float(nan), float(nan)};
        for (const Op op : {Op::max, Op::min}) {
            const auto result = map<float, float>({a, b}, target, 4, [&](const auto& loads) {
                return make_operation(op, loads, DType::f32);
            });
            CHECK(result[0] == (op == Op::max ? 2 : 1));
            CHECK(std::isnan(result[1]));
            CHECK(std::isnan(result[2]));
            CHECK(std::isnan(result[3]));
        }
    }
}

TEST_CASE("relu, abs and sign keep NaN and signs of zero") {
    const std::vector<double> x = {-2, -0.0, 0.0, 3, inf, -inf};
    CHECK(apply<double, double>(Op::relu, {x}, cpu::host_target()) ==
          std::vector<double>{0, -0.0, 0, 3, inf, 0});
    CHECK(apply<double, double>(Op::sign, {x}, cpu::host_target()) ==
          std::vector<double>{-1, -0.0, 0, 1, 1, -1});
    const auto nans = map<double, double>({{nan}}, cpu::host_target(), 1, [](const auto& loads) {
        return make_operation(Op::relu, loads, DType::f64);
    });
    CHECK(std::isnan(nans[0]));
}

TEST_CASE("comparisons give bool and are false for NaN, but for !=") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        const std::vector<float> a = {1, 2, 3, float(nan)};
        const std::vector<float> b = {2, 2, 2, 2};
        using Bytes = std::vector<std::uint8_t>;
        CHECK(apply<std::uint8_t, float>(Op::lt, {a, b}, target) == Bytes{1, 0, 0, 0});
        CHECK(apply<std::uint8_t, float>(Op::ge, {a, b}, target) == Bytes{0, 1, 1, 0});
        CHECK(apply<std::uint8_t, float>(Op::eq, {a, b}, target) == Bytes{0, 1, 0, 0});
        CHECK(apply<std::uint8_t, float>(Op::ne, {a, b}, target) == Bytes{1, 0, 1, 1});
        CHECK(apply<std::uint8_t, std::uint8_t>(Op::logical_and, {{0, 0, 1, 1}, {0, 1, 0, 1}},
                                                target) == Bytes{0, 0, 0, 1});
    }
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& x, const Target& target) {
    return map<To, From>({x}, target, 8, [](const std::vector<Value>& loads) {
        return make_convert(loads[0], dtype_of<To>);
    });
}

TEST_CASE("conversions to integers saturate, NaN gives 0") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        CHECK(
            converted<std::int64_t>(std::vector<double>{1.9, -1.9, nan, inf, -inf, 1e30}, target) ==
            std::vector<std::int64_t>{1, -1, 0, greatest, least, greatest});
        CHECK(converted<std::int32_t>(std::vector<std::int64_t>{1, -1, greatest, least}, target) ==
              std::vector<std::int32_t>{1, -1, 2147483647, -2147483647 - 1});
        CHECK(converted<float>(std::vector<std::int64_t>{3, -4, 1 << 24}, target) ==
              std::vector<float>{3, -4, 1 << 24});
        CHECK(converted<std::uint8_t>(std::vector<double>{0, 0.5, -0.0, nan}, target) ==
              std::vector<std::uint8_t>{0, 1, 0, 1});
        CHECK(converted<double>(std::vector<std::uint8_t>{0, 1}, target) ==
              std::vector<double>{0, 1});
    }
}

TEST_CASE("small constant exponents with a half take a root, no logarithm") {
    const double root = std::sqrt(3);
    for (const auto& [exponent, expected] :
         std::vector<std::pair<double, std::vector<double>>>{{0.5, {root, 0, inf, inf}},
                                                             {2.5, {9 * root, 0, inf, inf}},
                                                             {-1.5, {1 / (3 * root), inf, 0, 0}}}) {
        CAPTURE(exponent);
        const auto power = [&](const std::vector<double>& x) {
            return map<double, double>({x}, cpu::host_target(), 4, [&](const auto& loads) {
                return make_operation(Op::pow, {loads[0], make_number(DType::f64, exponent)},
                                      DType::f64);
            });
        };
        CHECK(power({3, -0.0, -inf, inf}) == expected);
        CHECK(std::signbit(power({-0.0, -0.0, -0.0, -0.0})[0]) == false);
        CHECK(std::isnan(power({-2, -2, -2, -2})[3]));
    }
}

TEST_CASE("small constant exponents are exact") {
    for (const auto& [exponent, expected] :
         std::vector<std::pair<double, std::vector<double>>>{{0, {1, 1, 1, 1}},
                                                             {2, {9, 0, 4, inf}},
                                                             {3, {27, 0, -8, inf}},
                                                             {-1, {1 / 3.0, inf, -0.5, 0}},
                                                             {8, {6561, 0, 256, inf}}}) {
        CAPTURE(exponent);
        CHECK(map<double, double>({{3, 0, -2, inf}}, cpu::host_target(), 4, [&](const auto& loads) {
                  return make_operation(Op::pow, {loads[0], make_number(DType::f64, exponent)},
                                        DType::f64);
              }) == expected);
    }
}

}  // namespace
}  // namespace ricci::tests
