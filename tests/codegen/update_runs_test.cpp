// tests/codegen/update_runs_test.cpp – updates of one element by neighbouring points
#include "codegen/update_runs.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Whether the plan compares places of neighbouring points and updates under that condition.
bool has_runs(const std::string& text, const Signature& signature) {
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(32)));
    return plan.find(" == ") != std::string::npos && plan.find("if not(%") != std::string::npos;
}

const ArgumentSpec keys = array({1500}, DType::i8);
const ArgumentSpec values = array({1500});

}  // namespace

TEST_CASE("floats of neighbouring points that update one element are combined first") {
    // Keys at random have a run or two, equal ones nothing else; tests/property has those between.
    for (const std::string place : {"J[i]", "J[i] - 40", "0*J[i] + 1"})
        for (const std::string op : {"+=", "max=", "min="}) {
            const std::string text = "h[clamp(" + place + ")] " + op + " x[i]";
            const Signature signature = {{"h", array({4})}, {"J", keys}, {"x", values}};
            CAPTURE(text);
            CHECK(has_runs(text, signature));
            check_values(text, signature);
        }
}
TEST_CASE("parts of many updates are cut along the first index that is long enough") {
    const auto signature = [](std::int64_t n, std::int64_t i) {
        return Signature{
            {"h", array({100})}, {"J", array({n, i}, DType::i32)}, {"x", array({n, i})}};
    };
    // Runs are of points that follow each other: those of short loops are none.
    CHECK(has_runs("h[J[n,i]] += x[n,i]", signature(100, 10'000)));
    CHECK(has_runs("h[J[n,i]] += x[n,i]", signature(1, 200'000)));
    CHECK(has_runs("h[J[n,i]] += x[n,i]", signature(4000, 5000)));
}
TEST_CASE("each task has runs of its own points") {
    const Signature signature = {{"h", array({3, 4}, DType::f64)},
                                 {"J", array({3, 1500}, DType::i8)},
                                 {"x", array({3, 1500}, DType::f64)}};
    const std::string text = "h[c, clamp(J[c,i])] += x[c,i]";
    CHECK(has_runs(text, signature));
    check_values(text, signature);
}
TEST_CASE("points under a condition are combined where all of a block exist") {
    const Signature signature = {{"h", array({4})}, {"J", keys}, {"x", values}};
    CHECK(has_runs("h[pad(J[i])] += x[i]", signature));
    check_values("h[pad(J[i])] += x[i]", signature);
    check_values("h[pad(0*J[i] + 1)] += x[i]", signature);
}
TEST_CASE("so are short rows of floats, and longer ones are not") {
    const auto signature = [](std::int64_t columns, std::int64_t count) {
        return Signature{{"h", array({4, columns})},
                         {"J", array({count}, DType::i8)},
                         {"x", array({count, columns})}};
    };
    for (const std::int64_t columns : {1, 2, 3, 4, 7, 8})
        for (const std::string text :
             {"h[clamp(J[i]),c] += x[i,c]", "h[clamp(0*J[i]+2),c] max= x[i,c]"}) {
            CAPTURE(text);
            CAPTURE(columns);
            CHECK(has_runs(text, signature(columns, 1029)));
            check_values(text, signature(columns, 1029));
        }
    CHECK_FALSE(has_runs("h[clamp(J[i]),c] += x[i,c]", signature(9, 1029)));
    CHECK_FALSE(has_runs("h[pad(J[i]),c] += x[i,c]", signature(3, 1029)));
    // Rows of a large array are asked for ahead, one by one.
    const Signature large = {
        {"h", array({1'000'000, 8})}, {"J", array({2000}, DType::i32)}, {"x", array({2000, 8})}};
    CHECK_FALSE(has_runs("h[J[i],c] += x[i,c]", large));
    check_values("h[pad(J[i]),c] += x[i,c]", signature(3, 1029));
    // Lanes of a row with places of their own.
    const Signature own = {{"h", array({9})}, {"J", keys}, {"x", array({1500, 3})}};
    check_values("h[clamp(J[i]+4*c)] += x[i,c]", own);
}
TEST_CASE("integers, half types and few points are updated one by one") {
    const auto signature = [](DType dtype, std::int64_t count) {
        return Signature{{"h", array({4}, dtype)},
                         {"J", array({count}, DType::i8)},
                         {"x", array({count}, dtype)}};
    };
    const std::string text = "h[clamp(J[i])] += x[i]";
    CHECK(has_runs(text, signature(DType::f64, 1024)));
    CHECK_FALSE(has_runs(text, signature(DType::f64, 1000)));
    CHECK_FALSE(has_runs(text, signature(DType::i32, 1500)));
    CHECK_FALSE(has_runs(text, signature(DType::f16, 1500)));
    // A product of eight may overflow before a zero.
    CHECK_FALSE(has_runs("h[clamp(J[i])] *= x[i]", signature(DType::f32, 1500)));
    // A place that moves with its point.
    const Signature moving = {{"h", array({2000})}, {"J", keys}, {"x", values}};
    CHECK_FALSE(has_runs("h[clamp(J[i], 0, 9) + i] += x[i]", moving));
}
