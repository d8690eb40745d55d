// tests/codegen_cuda/operations_test.cpp – what the text of every operation computes, at its edges
//
// The kernels run on an emulated device: the formulas are looked at here, not CUDA's functions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/reference_ops.h"
#include "tests/codegen_cuda/gpu_builder.h"
#include "tests/emulation/text_kernel.h"

namespace ricci::tests {
namespace {

using namespace codegen;
using runtime::Scalar;

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
constexpr DType dtype_of<std::uint64_t> = DType::u64;
template <>
constexpr DType dtype_of<std::uint8_t> = DType::boolean;

/// One operation, or conversion, of a kernel that holds many.
struct Row {
    Op op = Op::add;
    std::size_t arity = 1;
    DType type = DType::none;
};

/// A kernel with one result for each row, all of the same operands; a thread for each element.
template <class T>
class Table {
  public:
    Table(std::vector<Row> rows, std::vector<std::vector<T>> operands)
        : rows_(std::move(rows)), operands_(std::move(operands)) {
        const std::size_t count = operands_[0].size();
        const auto threads = std::int64_t((count + 31) / 32 * 32);
        GpuBuilder b("table");
        const AffineForm at = form(b.thread);
        std::vector<Value> loads;
        for (const auto& each : operands_)
            loads.push_back(b.load(b.argument("x", dtype_of<T>, std::int64_t(each.size())), at));
        Body body;
        for (const Row& row : rows_) {
            const BufferId y = b.result("y", row.type, std::int64_t(count));
            std::vector<Value> args(loads.begin(), loads.begin() + std::ptrdiff_t(row.arity));
            if (row.op == Op::select) args[0] = is_above_zero(loads[0]);
            body.push_back(make_store(y, {at}, make_operation(row.op, args, row.type)));
        }
        Body guarded;
        guarded.push_back(
            {Guard{make_operation(Op::lt, {make_index(at), make_integer(std::int64_t(count))},
                                  DType::boolean),
                   std::move(body)}});
        const Nest nest = b.finish(std::move(guarded), 1, threads);
        TextKernel kernel(cuda::emit_kernels({&nest, 1}));
        std::vector<emulation::Memory::Address> arguments;
        for (const auto& each : operands_) arguments.push_back(kernel.upload(each));
        for (const Row& row : rows_)
            arguments.push_back(kernel.upload(
                std::vector<std::uint8_t>(count * size_bytes(row.type), std::uint8_t{0xAA})));
        CHECK(kernel.run(cuda::symbol(nest, 0), 1, int(threads), arguments) == "");
        for (std::size_t n = 0; n < rows_.size(); ++n) {
            const auto address = arguments[operands_.size() + n];
            results_.push_back(rows_[n].type == DType::boolean
                                   ? scalars<std::uint8_t>(kernel, address, count)
                                   : scalars<T>(kernel, address, count));
        }
    }

    [[nodiscard]] std::size_t count() const { return operands_[0].size(); }
    [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
    [[nodiscard]] Scalar result(std::size_t row, std::size_t n) const { return results_[row][n]; }
    [[nodiscard]] std::vector<Scalar> args(const Row& row, std::size_t n) const {
        std::vector<Scalar> list;
        for (std::size_t a = 0; a < row.arity; ++a) list.push_back(scalar(operands_[a][n]));
        if (row.op == Op::select) list[0] = {.integer = operands_[0][n] > T(0) ? 1 : 0};
        return list;
    }

  private:
    static Value is_above_zero(const Value& value) {
        return make_operation(Op::gt, {value, make_number(value->dtype, 0)}, DType::boolean);
    }
    template <class E>
    static Scalar scalar(E value) {
        if constexpr (std::is_floating_point_v<E>)
            return {.real = double(value)};
        else
            return {.integer = std::int64_t(value)};
    }
    template <class E>
    static std::vector<Scalar> scalars(TextKernel& kernel, emulation::Memory::Address address,
                                       std::size_t count) {
        std::vector<Scalar> list;
        for (const E value : kernel.download<E>(address, count)) list.push_back(scalar(value));
        return list;
    }

    std::vector<Row> rows_;
    std::vector<std::vector<T>> operands_;
    std::vector<std::vector<Scalar>> results_;
};

bool is_logic(const OpInfo& row) {
    return row.precedence == Precedence::logical_and || row.precedence == Precedence::logical_or ||
           row.op == Op::logical_not;
}

/// All operations that operands of the type have.
std::vector<Row> rows_of(DType dtype) {
    std::vector<Row> rows;
    for (const OpInfo& row : all_ops()) {
        if (is_logic(row) != (dtype == DType::boolean)) continue;
        if (!is_floating(dtype) && row.type == TypeRule::floating) continue;
        if (!is_floating(dtype) && row.op == Op::angle) continue;
        const bool is_test = row.type == TypeRule::boolean;
        rows.push_back({row.op, std::size_t(std::max(row.min_arity, row.max_arity)),
                        is_test ? DType::boolean : dtype});
        if (row.max_arity < 0) rows.back().arity = 3;
    }
    return rows;
}

/// All triples of the numbers, as three operands.
template <class T>
std::vector<std::vector<T>> triples(const std::vector<T>& numbers) {
    std::vector<std::vector<T>> operands(3);
    for (const T a : numbers)
        for (const T b : numbers) {
            operands[0].push_back(a);
            operands[1].push_back(b);
            operands[2].push_back(numbers[operands[0].size() % numbers.size()]);
        }
    return operands;
}

std::string described(const Row& row, const std::vector<Scalar>& args) {
    std::vector<std::string> texts;
    for (const Scalar& arg : args)
        texts.push_back(is_floating(row.type) || arg.real != 0 ? format("{}", arg.real)
                                                               : format("{}", arg.integer));
    return format("{}({})", info(row.op).name, join(texts, ", "));
}

template <class T>
void check_reals(const std::vector<T>& numbers) {
    const Table<T> table(rows_of(dtype_of<T>), triples(numbers));
    for (std::size_t r = 0; r < table.rows().size(); ++r) {
        const Row& row = table.rows()[r];
        for (std::size_t n = 0; n < table.count(); ++n) {
            const std::vector<Scalar> args = table.args(row, n);
            // A pole at 0, on one side of which digamma is infinite, on the other minus infinite.
            if (row.op == Op::digamma && args[0].real == 0) continue;
            if (row.op == Op::floordiv && std::isinf(args[1].real)) continue;
            const Scalar expected =
                runtime::operate_with_bound(row.op, dtype_of<T>, row.type, args);
            const Scalar found = table.result(r, n);
            const std::string what = described(row, args);
            CAPTURE(what);
            if (row.type == DType::boolean) {
                CHECK(found.integer == expected.integer);
            } else if (std::isnan(expected.real)) {
                CHECK(std::isnan(found.real));
            } else if (std::isinf(expected.real)) {
                CHECK(found.real == expected.real);
            } else {
                CHECK(std::abs(found.real - expected.real) <= expected.bound);
            }
        }
    }
}

template <class T>
void check_integers(const std::vector<T>& numbers) {
    const Table<T> table(rows_of(dtype_of<T>), triples(numbers));
    for (std::size_t r = 0; r < table.rows().size(); ++r) {
        const Row& row = table.rows()[r];
        for (std::size_t n = 0; n < table.count(); ++n) {
            const std::vector<Scalar> args = table.args(row, n);
            // The reference knows no exponents beyond those of i64.
            if (row.op == Op::pow && dtype_of<T> == DType::u64 && args[1].integer < 0) continue;
            const std::string what = described(row, args);
            CAPTURE(what);
            CHECK(table.result(r, n).integer ==
                  runtime::operate(row.op, dtype_of<T>, row.type, args).integer);
        }
    }
}

TEST_CASE("every operation on floating numbers agrees with the reference") {
    check_reals<double>(
        {0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 3, -7, 20.25, 1e-300, 1e300, inf, -inf, nan});
    check_reals<float>({0, -0.0F, 1, -1, 0.5F, -0.5F, 2.5F, -2.5F, 3, -7, 20.25F, 1e-30F, 1e30F,
                        float(inf), float(-inf), float(nan)});
}

TEST_CASE("every operation on integers agrees with the reference") {
    check_integers<std::int64_t>({0, 1, -1, 2, -2, 3, 7, -7, 64, greatest, least});
    check_integers<std::int32_t>({0, 1, -1, 3, -7, 2147483647, -2147483647 - 1});
    check_integers<std::uint64_t>({0, 1, 3, 7, ~std::uint64_t{0}});
    check_integers<std::uint8_t>({0, 1});
}

/// value(loads) for every element.
template <class Result, class T>
std::vector<Result> map(const std::vector<std::vector<T>>& operands,
                        const std::function<Value(const std::vector<Value>&)>& value) {
    GpuBuilder b("map");
    const std::size_t count = operands[0].size();
    const VarId n = b.var("n");
    std::vector<Value> loads;
    for (std::size_t i = 0; i < operands.size(); ++i)
        loads.push_back(b.load(b.argument("x", dtype_of<T>, std::int64_t(count)), form(n)));
    const BufferId y = b.result("y", dtype_of<Result>, std::int64_t(count));
    Body inner;
    inner.push_back(make_store(y, {form(n)}, value(loads)));
    Body body;
    body.push_back(make_loop(n, Bind::serial, bound(form(b.thread)), bound(std::int64_t(count)),
                             std::move(inner), 32));
    const Nest nest = b.finish(std::move(body), 1, 32);
    TextKernel kernel(cuda::emit_kernels({&nest, 1}));
    std::vector<emulation::Memory::Address> arguments;
    for (const auto& each : operands) arguments.push_back(kernel.upload(each));
    arguments.push_back(kernel.upload(std::vector<Result>(count)));
    CHECK(kernel.run(cuda::symbol(nest, 0), 1, 32, arguments) == "");
    return kernel.download<Result>(arguments.back(), count);
}
template <class Result, class T>
std::vector<Result> apply(Op op, const std::vector<std::vector<T>>& operands) {
    return map<Result, T>(operands, [&](const std::vector<Value>& loads) {
        return make_operation(op, loads, dtype_of<Result>);
    });
}

TEST_CASE("floating quotients are rounded down from the exact ones") {
    const std::vector<double> a = {7, -7, 7, -7, 1, -1, 3, 3, -3, 0x1p60, 7, 0};
    const std::vector<double> b = {2, 2, -2, -2, 0.1, 0.1, inf, -inf, inf, 3, 0, 5};
    const std::vector<double> down = {3, -4, -4, 3, 9, -10, 0, -1, -1, 0x1p60 / 3, inf, 0};
    CHECK(apply<double, double>(Op::floordiv, {a, b}) == down);
    const std::vector<float> one = {1, -1, 1};
    const std::vector<float> tenth = {0.1F, 0.1F, -0.1F};
    CHECK(apply<float, float>(Op::floordiv, {one, tenth}) == std::vector<float>{9, -10, -10});
    CHECK(apply<double, double>(Op::mod, {{7, -7, 7, -7, 3}, {2, 2, -2, -2, -inf}}) ==
          std::vector<double>{1, 1, -1, -1, -inf});
    CHECK(std::isnan(apply<double, double>(Op::mod, {{7}, {0}})[0]));
}

TEST_CASE("zeros keep their signs, and the greater one is positive") {
    const std::vector<double> zeros = {0.0, -0.0};
    const auto signs = [](const std::vector<double>& x) {
        std::vector<bool> list;
        for (const double each : x) list.push_back(std::signbit(each));
        return list;
    };
    CHECK(signs(apply<double, double>(Op::sign, {zeros})) == std::vector<bool>{false, true});
    CHECK(signs(apply<double, double>(Op::relu, {zeros})) == std::vector<bool>{false, true});
    const std::vector<double> others = {-0.0, 0.0};
    CHECK(signs(apply<double, double>(Op::max, {zeros, others})) ==
          std::vector<bool>{false, false});
    CHECK(signs(apply<double, double>(Op::min, {zeros, others})) == std::vector<bool>{true, true});
}

TEST_CASE("conversions to integers saturate, NaN gives 0") {
    const auto converted = [](auto to, const auto& x) {
        using From = typename std::decay_t<decltype(x)>::value_type;
        return map<decltype(to), From>({x}, [](const std::vector<Value>& loads) {
            return make_convert(loads[0], dtype_of<decltype(to)>);
        });
    };
    CHECK(converted(std::int64_t{}, std::vector<double>{1.9, -1.9, nan, inf, -inf, 1e30}) ==
          std::vector<std::int64_t>{1, -1, 0, greatest, least, greatest});
    CHECK(converted(std::int64_t{}, std::vector<float>{1.9F, float(nan), 1e30F, -1e30F}) ==
          std::vector<std::int64_t>{1, 0, greatest, least});
    CHECK(converted(std::int32_t{}, std::vector<double>{2147483647.5, -3e9, 5}) ==
          std::vector<std::int32_t>{2147483647, -2147483647 - 1, 5});
    CHECK(converted(std::int32_t{}, std::vector<std::int64_t>{1, -1, greatest, least}) ==
          std::vector<std::int32_t>{1, -1, 2147483647, -2147483647 - 1});
    CHECK(converted(std::uint64_t{}, std::vector<std::int64_t>{1, -1, greatest}) ==
          std::vector<std::uint64_t>{1, 0, std::uint64_t(greatest)});
    CHECK(converted(std::uint64_t{}, std::vector<double>{1.5, -1, 1e30}) ==
          std::vector<std::uint64_t>{1, 0, ~std::uint64_t{0}});
    CHECK(converted(std::int64_t{}, std::vector<std::uint64_t>{1, ~std::uint64_t{0}}) ==
          std::vector<std::int64_t>{1, greatest});
    CHECK(converted(float{}, std::vector<std::int64_t>{3, -4, 1 << 24}) ==
          std::vector<float>{3, -4, 1 << 24});
    CHECK(converted(double{}, std::vector<std::uint64_t>{~std::uint64_t{0}}) ==
          std::vector<double>{0x1p64});
    CHECK(converted(std::uint8_t{}, std::vector<double>{0, 0.5, -0.0, nan}) ==
          std::vector<std::uint8_t>{0, 1, 0, 1});
    CHECK(converted(double{}, std::vector<std::uint8_t>{0, 1}) == std::vector<double>{0, 1});
    CHECK(converted(std::int64_t{}, std::vector<std::uint8_t>{0, 1}) ==
          std::vector<std::int64_t>{0, 1});
}

TEST_CASE("small constant exponents are exact") {
    const std::vector<double> x = {3, 0, -2, inf};
    const auto power = [&](double exponent) {
        return map<double, double>({x}, [&](const std::vector<Value>& loads) {
            return make_operation(Op::pow, {loads[0], make_number(DType::f64, exponent)},
                                  DType::f64);
        });
    };
    CHECK(power(0) == std::vector<double>{1, 1, 1, 1});
    CHECK(power(2) == std::vector<double>{9, 0, 4, inf});
    CHECK(power(3) == std::vector<double>{27, 0, -8, inf});
    CHECK(power(-1) == std::vector<double>{1 / 3.0, inf, -0.5, 0});
    CHECK(power(8) == std::vector<double>{6561, 0, 256, inf});
    const auto roots =
        map<double, double>({{4, -0.0, -inf, inf}}, [&](const std::vector<Value>& loads) {
            return make_operation(Op::pow, {loads[0], make_number(DType::f64, 0.5)}, DType::f64);
        });
    CHECK(roots == std::vector<double>{2, 0, inf, inf});
    CHECK(!std::signbit(roots[1]));
}

TEST_CASE("quotients by constants are rounded down, in 32 and 64 bits") {
    const std::vector<std::int64_t> a = {-9, -8, -7, -1, 0, 1, 7, 8, 9};
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < 9; ++i) numbers.push_back(i);
    const auto check = [&](Op op, std::int64_t divisor) {
        std::vector<std::int64_t> expected;
        for (const std::int64_t x : a) {
            const std::int64_t quotient = x / divisor - (x % divisor < 0 ? 1 : 0);
            expected.push_back(op == Op::mod ? x - quotient * divisor : quotient);
        }
        CHECK(map<std::int64_t, std::int64_t>({a}, [&](const std::vector<Value>& loads) {
                  return make_operation(op, {loads[0], make_integer(divisor)}, DType::i64);
              }) == expected);
    };
    check(Op::floordiv, 8);
    check(Op::floordiv, 3);
    check(Op::mod, 8);
    check(Op::mod, 3);
}

}  // namespace
}  // namespace ricci::tests
