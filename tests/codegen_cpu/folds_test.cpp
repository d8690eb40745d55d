// tests/codegen_cpu/folds_test.cpp – lanes of as many rows as lanes, folded side by side
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "tests/codegen_cpu/kernel_support.h"

namespace ricci::tests {
namespace {

using namespace codegen;

/// y[r] op= rows[lanes*r + l], from a copy of `x` in scratch memory, on top of what y holds.
template <class T>
std::vector<T> folded(DType dtype, Reducer reducer, const Target& target, std::int64_t lanes,
                      std::vector<T> x, std::vector<T> y) {
    Builder b("folds");
    const BufferId from = b.argument("x", dtype, lanes * lanes);
    const BufferId to = b.argument("y", dtype, lanes, true);
    const auto scratch = [&](const char* name, std::int64_t elements) {
        return b.nest.add(Buffer{.name = name,
                                 .dtype = dtype,
                                 .space = Space::scratch,
                                 .elements = elements,
                                 .is_written = true});
    };
    const BufferId rows = scratch("rows", lanes * lanes);
    const BufferId results = scratch("results", lanes);
    const auto copy = [&](BufferId target_buffer, BufferId source, std::int64_t count) {
        const VarId i = b.var("i");
        return make_loop(i, Bind::serial, count,
                         {make_store(target_buffer, {form(i)}, b.load(source, form(i)))});
    };
    const VarId row = b.var("r");
    const VarId lane = b.var("l");
    Body fold = {make_loop(
        lane, Bind::vector, lanes,
        {make_store(results, {form(row)}, b.load(rows, form(row, lanes) + form(lane)), reducer)})};
    Body body = {copy(rows, from, lanes * lanes), copy(results, to, lanes),
                 make_loop(row, Bind::unroll, lanes, std::move(fold)), copy(to, results, lanes)};
    run(b.finish(1, std::move(body)), target, 1, {x.data(), y.data()});
    return y;
}

/// Small whole numbers: any order of additions gives the same.
template <class T>
std::vector<T> small(std::int64_t count, std::uint64_t seed) {
    std::vector<T> result;
    for (const double number : numbers<double>(std::size_t(count), seed))
        result.push_back(static_cast<T>(static_cast<int>(std::floor(4 * number))));
    return result;
}

template <class T>
void check(DType dtype, const Target& target, std::int64_t lanes) {
    const std::vector<T> x = small<T>(lanes * lanes, 7);
    const std::vector<T> y = small<T>(lanes, 8);
    const std::pair<Reducer, std::function<T(T, T)>> reducers[] = {
        {Reducer::sum, [](T a, T b) { return T(a + b); }},
        {Reducer::prod, [](T a, T b) { return T(a * b); }},
        {Reducer::max, [](T a, T b) { return std::max(a, b); }},
        {Reducer::min, [](T a, T b) { return std::min(a, b); }}};
    for (const auto& [reducer, step] : reducers) {
        std::vector<T> expected = y;
        for (std::int64_t i = 0; i < lanes * lanes; ++i) {
            T& result = expected[std::size_t(i / lanes)];
            result = step(result, x[std::size_t(i)]);
        }
        CAPTURE(name(dtype));
        CAPTURE(name(reducer));
        CAPTURE(lanes);
        CHECK(folded<T>(dtype, reducer, target, lanes, x, y) == expected);
    }
}

}  // namespace

TEST_CASE("lanes of as many rows as lanes are folded each into its own result") {
    for (const Target& target : runnable_targets()) {
        CAPTURE(target.cpu);
        for (const std::int64_t lanes : {2, 4, 8, 16}) {
            check<float>(DType::f32, target, lanes);
            check<double>(DType::f64, target, lanes);
            check<std::int8_t>(DType::i8, target, lanes);
            check<std::int32_t>(DType::i32, target, lanes);
            check<std::int64_t>(DType::i64, target, lanes);
            check<std::uint8_t>(DType::u8, target, lanes);
            check<std::uint32_t>(DType::u32, target, lanes);
        }
    }
    check<std::int16_t>(DType::i16, cpu::host_target(), 32);
}

TEST_CASE("bits are folded each row into its own") {
    for (const Target& target : runnable_targets())
        for (const std::int64_t lanes : {2, 8, 16, 32}) {
            CAPTURE(target.cpu);
            CAPTURE(lanes);
            std::vector<std::uint8_t> x(std::size_t(lanes * lanes), 0);
            const std::vector<std::uint8_t> none(std::size_t(lanes), 0);
            const std::vector<std::uint8_t> all(std::size_t(lanes), 1);
            for (std::int64_t row = 1; row < lanes; row += 3)
                x[std::size_t(row * lanes + (7 * row) % lanes)] = 1;
            const auto some = folded(DType::boolean, Reducer::any, target, lanes, x, none);
            for (std::uint8_t& bit : x) bit = bit == 0 ? 1 : 0;
            const auto every = folded(DType::boolean, Reducer::all, target, lanes, x, all);
            for (std::int64_t row = 0; row < lanes; ++row) {
                CHECK(some[std::size_t(row)] == (row % 3 == 1 ? 1 : 0));
                CHECK(every[std::size_t(row)] == (row % 3 == 1 ? 0 : 1));
            }
        }
}

TEST_CASE("halves are folded as they are summed") {
    constexpr std::int64_t lanes = 16;
    std::vector<std::uint16_t> x;  // 1.0, 2.0 by turns in f16
    for (std::int64_t i = 0; i < lanes * lanes; ++i) x.push_back(i % 2 == 0 ? 0x3c00 : 0x4000);
    const std::vector<std::uint16_t> zeros(lanes, 0);
    const auto sums = folded(DType::f16, Reducer::sum, cpu::host_target(), lanes, x, zeros);
    const auto most = folded(DType::f16, Reducer::max, cpu::host_target(), lanes, x, zeros);
    for (std::size_t row = 0; row < lanes; ++row) {
        CHECK(sums[row] == 0x4e00);  // 24
        CHECK(most[row] == 0x4000);
    }
}

TEST_CASE("NaN passes through folded rows into its own result alone") {
    constexpr std::int64_t lanes = 16;
    std::vector<float> x = small<float>(lanes * lanes, 3);
    x[5 * lanes + 11] = std::numeric_limits<float>::quiet_NaN();
    for (const Reducer reducer : {Reducer::sum, Reducer::max, Reducer::min}) {
        const std::vector<float> y = folded<float>(DType::f32, reducer, cpu::host_target(), lanes,
                                                   x, std::vector<float>(lanes, 0));
        for (std::size_t row = 0; row < lanes; ++row) CHECK(std::isnan(y[row]) == (row == 5));
    }
}

}  // namespace ricci::tests
