// tests/values/updates_test.cpp – assignment operators and reductions of every type
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/support/error_text.h"
#include "tests/values/samples.h"

namespace ricci::tests {
namespace {

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }
int kind(DType dtype) { return dtype == DType::boolean ? 0 : is_integer(dtype) ? 1 : 2; }

struct Update {
    std::string_view op;
    Wide (*value)(Wide old, Wide given);
    bool takes_bool = false;
};
const Update updates[] = {
    {"=", [](Wide, Wide given) { return given; }, true},
    {"+=", [](Wide old, Wide given) { return old + given; }},
    {"-=", [](Wide old, Wide given) { return old - given; }},
    {"*=",
     [](Wide old, Wide given) { return low_bits(old, DType::i64) * low_bits(given, DType::i64); }},
};

TEST_CASE("an update stores the low bits of integers, rounds floating numbers") {
    for (const DType target : real_types) {
        for (const DType value : real_types) {
            if (kind(value) > kind(target) || !promote(target, value)) continue;
            for (const Update& update : updates) {
                if (target == DType::boolean && !update.takes_bool) continue;
                for (const std::string_view where : {"", " where i in 1:9"}) {
                    const std::string text = format("a[i] {} b[i]{}", update.op, where);
                    INFO(format("{} of {} by {}", text, name(target), name(value)));
                    const Array old = small_values(target, 11);
                    Array given = small_values(value, 11);
                    const Array edges = edge_values(value);
                    if (is_whole(value) && edges.size() >= 11)
                        given = edges.slice(0, edges.size() - 11, edges.size()).copy();
                    const Array found = run_both(text, {{"a", old}, {"b", given}});
                    REQUIRE(found.dtype() == target);
                    if (!is_whole(target)) continue;
                    for (std::int64_t i = 0; i < 11; ++i) {
                        const bool is_named = where.empty() || (i >= 1 && i < 9);
                        const Wide exact = update.value(whole(old, i), whole(given, i));
                        const Wide expected = !is_named                  ? whole(old, i)
                                              : target == DType::boolean ? exact
                                                                         : low_bits(exact, target);
                        CHECK(whole(found, i) == expected);
                    }
                }
            }
        }
    }
}

TEST_CASE("the larger and the smaller are kept in every type") {
    for (const DType dtype : real_types) {
        CAPTURE(name(dtype));
        const Arguments arguments = {{"a", small_values(dtype, 37)},
                                     {"b", small_values(dtype, 74).slice(0, 20, 57).copy()},
                                     {"M", small_values(dtype, 37 * 12).reshape({37, 12})}};
        (void)run_both("a[i] max= b[i]", arguments[0].second.is_weak()
                                             ? arguments
                                             : Arguments{arguments[0], arguments[1]});
        (void)run_both("a[i] min= b[i] where i in 3:30", {arguments[0], arguments[1]});
        (void)run_both("a[i] max= M[i,k]", {arguments[0], arguments[2]});
        (void)run_both("a[0] min= b[i]", {arguments[0], arguments[1]});
    }
}

TEST_CASE("implied reductions follow the operator for every type") {
    for (const DType dtype : real_types) {
        CAPTURE(name(dtype));
        const Arguments arguments = {{"a", small_values(dtype, 9)},
                                     {"M", small_values(dtype, 9 * 21).reshape({9, 21})}};
        const Arguments only_m = {arguments[1]};
        (void)run_both("y[i] := M[i,k]", only_m);
        (void)run_both("y[i] := M[i,k]*M[i,k]", only_m);
        (void)run_both("y[i,j] := M[i,k]*M[j,k]", only_m);
        if (dtype == DType::boolean) continue;
        (void)run_both("a[i] += M[i,k]", arguments);
        (void)run_both("a[i] -= M[i,k]*M[i,k]", arguments);
        (void)run_both("a[i] *= M[i,k] + 1", arguments);
    }
}

constexpr std::string_view reducers[] = {"sum", "prod",  "max",    "min",    "mean",      "any",
                                         "all", "count", "argmax", "argmin", "logsumexp", "norm"};

TEST_CASE("every reducer of every type is that of the reference, in all shapes of loops") {
    for (const DType dtype : real_types) {
        for (const std::string_view reducer : reducers) {
            INFO(format("{} of {}", reducer, name(dtype)));
            const Arguments arguments = {{"M", small_values(dtype, 67 * 35).reshape({67, 35})}};
            const auto run = [&](std::string_view form) {
                std::string text(form);
                text.replace(text.find("R"), 1, reducer);
                (void)run_both(text, arguments);
            };
            run("y[i] := R[k](M[i,k])");
            run("y[k] := R[i](M[i,k])");
            run("y[i+_] := R[k | k < i](M[i,k]) where i in 1:35");
            run("y[i] := R[k | M[i,k] >= M[i,0]](M[i,k])");
            if (reducer.substr(0, 3) != "arg") run("s := R[i,k](M[i,k])");
            if (reducer.substr(0, 3) != "arg") run("y[i] := R[k](M[i,k]*M[i,k])");
        }
    }
}

TEST_CASE("sums and products of integers have 64 bits and wrap") {
    for (const DType dtype : real_types) {
        if (!is_integer(dtype)) continue;
        CAPTURE(name(dtype));
        const Array a = edge_values(dtype);
        const DType wide = is_signed(dtype) ? DType::i64 : DType::u64;
        Wide sum = 0;
        Wide squares = 0;
        Wide product = 1;
        for (std::int64_t i = 0; i < a.size(); ++i) {
            const Wide x = low_bits(whole(a, i), DType::i64);
            sum += x;
            squares = low_bits(squares + low_bits(x * x, DType::i64), DType::i64);
            product = low_bits(product * low_bits(2 * x + 1, DType::i64), DType::i64);
        }
        CHECK(whole(run_both("s := sum[i](a[i])", {{"a", a}}), 0) == low_bits(sum, wide));
        CHECK(whole(run_both("s := a[i]*a[i]", {{"a", a}}), 0) == low_bits(squares, wide));
        CHECK(whole(run_both("s := prod[i](2*a[i] + 1)", {{"a", a}}), 0) ==
              low_bits(product, wide));
    }
}

TEST_CASE("a norm and a mean of large integers do not overflow") {
    const Array a = Array::full(DType::i32, {4}, 2e9);
    CHECK(run_both("s := norm[i](a[i])", {{"a", a}}).item() == 4e9);
    const Array b = Array::full(DType::i64, {4}, 0x1p62);
    CHECK(run_both("s := mean[i](a[i])", {{"a", b}}).item() == 0x1p62);
    const Array u = Array::from({std::uint8_t{250}, std::uint8_t{255}, std::uint8_t{0}}, {3});
    CHECK(run_both("s := logsumexp[i](a[i])", {{"a", u}}).item() ==
          doctest::Approx(255 + std::log1p(std::exp(-5.0))));
}

}  // namespace
}  // namespace ricci::tests
