// tests/codegen/scan_test.cpp – reductions up to each point as one walk
#include <array>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/prefix_sums.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

bool is_scan(const std::string& text, const Signature& signature) {
    return has_directive(": scan\n", text, signature, 1 << 20, Forced::nothing);
}
bool has_squares(const std::string& text, const Signature& signature) {
    return has_directive("squares are transposed", text, signature, 1 << 20, Forced::nothing);
}
Signature rows(std::int64_t count, std::int64_t points, DType dtype = DType::f32) {
    return {{"X", array({count, points}, dtype)}};
}

}  // namespace

TEST_CASE("points side by side are met in squares of rows, whole ones and what is left over") {
    for (const std::int64_t count : {8, 9, 21})
        for (const std::int64_t points : {16, 27, 33})
            CHECK(has_squares(format("Y[i,k] := sum[l | l <= k](X[i,l]) where k in 0:{}", points),
                              rows(count, points)));
    CHECK(
        has_squares("Y[i,k] := sum[l | l <= k](X[i,l]) where k in 0:20", rows(9, 20, DType::f64)));
    CHECK(has_squares("Y[i,k] := max[l | l <= k](X[i,l]) where k in 0:20", rows(9, 20, DType::i8)));
    CHECK(
        has_squares("Y[i,k] := sum[l | l <= k](X[i,l]) where k in 0:20", rows(9, 20, DType::bf16)));
}

TEST_CASE("rows side by side are met in vectors of them") {
    for (const std::int64_t count : {2, 16, 75}) {
        const std::string text = "Y[k,i] := sum[l | l <= k](X[l,i]) where k in 0:37";
        CHECK(is_scan(text, rows(37, count)));
        CHECK_FALSE(has_squares(text, rows(37, count)));
    }
}

TEST_CASE("one row is walked by itself") {
    CHECK(is_scan("y[k] := sum[l | l <= k](x[l]) where k in 0:100", {{"x", array({100})}}));
    CHECK(is_scan("y[k] := argmin[l | l >= k](x[l]) where k in 0:100", {{"x", array({100})}}));
}

TEST_CASE("points up to a result, before it, from it on, behind it, and some places further") {
    for (const char* relation :
         {"l <= k", "l < k", "l >= k", "l > k", "l <= k-3", "l <= k+4", "l >= k+5", "l >= k-2",
          "l+k <= 36", "l+k < 30", "l+k >= 36", "l+k > 40", "k <= l", "0 <= k-l"})
        for (const char* reducer : {"sum", "max"}) {
            CHECK(is_scan(format("Y[i,k] := {}[l | {}](X[i,l]) where k in 0:37", reducer, relation),
                          rows(9, 37)));
            CHECK(is_scan(format("Y[k,i] := {}[l | {}](X[l,i]) where k in 0:37", reducer, relation),
                          rows(37, 9)));
        }
    CHECK(is_scan("Y[i,k] := sum[l | l <= k+12](X[i,l]) where k in 0:60", rows(9, 37)));
    CHECK(is_scan("Y[i,k] := sum[l | l >= k-12](X[i,l]) where k in 0:60", rows(9, 37)));
}

TEST_CASE("places of extremes are the first ones of equal values, in either direction") {
    for (const char* relation : {"l <= k", "l >= k", "l < k+5", "l > k-5"})
        for (const char* reducer : {"argmax", "argmin"}) {
            const std::string form = format("{}[l | {}](round(X[", reducer, relation);
            CHECK(is_scan(format("Y[i,k] := {}i,l])) where k in 0:37", form), rows(9, 37)));
            CHECK(is_scan(format("Y[k,i] := {}l,i])) where k in 0:37", form), rows(37, 9)));
        }
}

TEST_CASE("functions of points, further conditions, and what is done to a result") {
    const Signature two = {{"X", array({9, 37})}, {"Z", array({9, 37})}};
    CHECK(has_squares("Y[i,k] := sum[l | l <= k](exp(X[i,l])*Z[i,l]) where k in 0:37", two));
    CHECK(has_squares("Y[i,k] := Z[i,k]*log(1 + sum[l | l <= k](X[i,l]^2)) where k in 0:37", two));
    CHECK(has_squares("Y[i,k] := sum[l | l <= k && Z[i,l] > 0](X[i,l]) where k in 0:37", two));
    CHECK(has_squares("Y[i,k] := prod[l | l <= k && l != 5](X[i,l]) where k in 0:37", rows(9, 37)));
    CHECK(is_scan("Y[i,k] := sum[l | l <= k && l >= 2*i](X[i,l]) where k in 0:37", rows(9, 37)));
    CHECK(is_scan("Y[i,k] := argmax[l | l <= k && Z[i,l] > -100](X[i,l]) where k in 0:37", two));
    CHECK(is_scan("Y[k,i] := sum[l | l <= k && X[i,l] > 0](X[i,l]) where k in 0:37", rows(9, 37)));
    CHECK(is_scan("Y[i,k] := sum[l | l <= k](X[i,l]) where k in 0:37; D[i,k] := 2*Y[i,k]",
                  rows(9, 37)));
    CHECK(is_scan("Y[i,36-k] = sum[l | l <= k](X[i,36-l]) where l in 0:37",
                  {{"Y", array({9, 37})}, {"X", array({9, 37})}}));
    CHECK(is_scan("Y[i,k] += sum[l | l <= k](X[i,l])",
                  {{"Y", array({9, 37})}, {"X", array({9, 37})}}));
    CHECK(is_scan("Y[i,k] := sum[l | l <= k](X[i,clamp(J[l],0,36)]) where k in 0:37",
                  {{"X", array({9, 37})}, {"J", array({37}, DType::i32)}}));
}

TEST_CASE("blocks of a long row are walked side by side: places in a block bound their sums") {
    const codegen::Plan plan = codegen::plan(
        bound("y[k] := sum[l | l <= k](x[l]) where k in 0:50000", {{"x", array({50000})}}),
        example_target(64));
    std::string schedules;
    for (const codegen::Schedule& schedule : plan.schedules) schedules += str(schedule);
    CHECK(schedules.find("squares are transposed") != std::string::npos);
}

TEST_CASE("what stays along a row is read once") {
    const Signature columns = {{"X", array({37, 40})}, {"W", array({40, 5})}};
    for (const char* text : {"Y[k,i] := W[i,3] + sum[l | l <= k](X[l,i]) where k in 0:37",
                             "Y[k,i] := exp(W[i,1])*sum[l | l <= k](X[l,i]*W[i,2]) where k in 0:37",
                             "Y[i,k] := W[i,0]*sum[l | l <= k](X[l,i] + W[i,4]) where k in 0:37"})
        CHECK(has_directive(": scan\n", text, columns, 1 << 20, Forced::nothing));
    CHECK_FALSE(has_squares("Y[k,i] := W[i,3] + sum[l | l <= k](X[l,i]) where k in 0:37", columns));
    const std::string text = "Y[k,i] := sum[l | l <= k](X[l,i]*v[wrap(J[i])]) where k in 0:37";
    CHECK(
        is_scan(text, {{"X", array({37, 40})}, {"v", array({9})}, {"J", array({40}, DType::i32)}}));
}

TEST_CASE("what stays is found in terms of many shared parts") {
    std::string text = "Y[k,i] := sum[l | l <= k](u30) where k in 0:37, u0 = X[l,i]*W[i,3]";
    for (int n = 1; n <= 30; ++n) text += format(", u{0} = tanh(u{1})*cos(u{1})", n, n - 1);
    CHECK(is_scan(text, {{"X", array({37, 40})}, {"W", array({40, 5})}}));
}

TEST_CASE("conditions of results alone are of what the walk gives") {
    const auto is_masked_scan = [](const std::string& condition, const std::string& value) {
        return is_scan(
            "Y[i,k] := sum[l | " + condition + "](" + value + ") where k in 0:40, i in 0:9",
            {{"X", array({9, 40})}, {"M", array({9, 40})}});
    };
    CHECK(is_masked_scan("l <= k && M[i,k] > 0", "X[i,l]"));
    CHECK(is_masked_scan("l >= k && M[i,k] > 0 && k != 3", "X[i,l]*M[i,k]"));
    CHECK(is_masked_scan("l < k && M[i,l] > 0 && i > 2", "X[i,l]"));
    // What is inside where the result counts alone is not read elsewhere.
    CHECK_FALSE(is_masked_scan("l <= k && i > 1 && M[i,k] > 0", "X[i-2,l]*M[0,0]"));
}

TEST_CASE("conditions whose places only points of the walk keep inside") {
    CHECK(
        is_scan("Y[b,t] := sum[s | s <= t && s >= b && M[s-b] > 0](X[b,s]) "
                "where t in 0:37, b in 0:9",
                {{"X", array({9, 37})}, {"M", array({37})}}));
}

TEST_CASE("points that all results take are summed once") {
    const auto is_apart = [](const std::string& text, const Signature& signature) {
        check_values(text, signature);
        const BoundProgram program = bound(text, signature);
        const codegen::PrefixLimits whole = {.rows = 0};
        return codegen::with_prefix_sums(program, whole).equations.size() > 2;
    };
    for (const char* relation : {"l <= k+150", "l < k+150", "l >= k", "l > k-1"})
        CHECK(is_apart(format("Y[i,k] := sum[l | {}](X[i,l]) where k in 0:20", relation),
                       rows(9, 180)));
    CHECK(is_apart("Y[i,k] := max[l,c | l >= k](A[i,l,c]) where k in 0:17",
                   {{"A", array({3, 100, 4})}}));
    CHECK_FALSE(is_apart("Y[i,k] := sum[l | l <= k](X[i,l]) where k in 0:180", rows(9, 180)));
}

TEST_CASE("sums over other indices too are summed over these first") {
    CHECK(is_scan("y[k] := sum[i,l | l <= k](X[i,l]) where k in 0:70", rows(9, 70)));
    CHECK(is_scan("Y[k,j] := sum[l,c | l <= k](A[l,c]*B[l,c,j]) where k in 0:70",
                  {{"A", array({70, 3})}, {"B", array({70, 3, 5})}}));
}

TEST_CASE("random walks compute what the reference does") {
    std::mt19937 random(7);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return low + std::int64_t(random() % std::uint64_t(high - low + 1));
    };
    constexpr std::array reducers = {"sum", "prod", "max", "min", "argmax", "argmin"};
    constexpr std::array relations = {"l <= k+{}", "l < k+{}", "l >= k-{}", "l > k-{}"};
    constexpr std::array places = {"i,{0},j", "{0},i,j", "i,j,{0}"};
    constexpr std::array conditions = {"", "", " && l != 2", " && Z[l] > 0", " && l >= i"};
    constexpr std::array results = {"{}", "{}", "{} + W[k]", "2*relu({})"};
    constexpr std::array dtypes = {DType::f32, DType::f32, DType::f64, DType::i32, DType::bf16};
    for (int n = 0; n < 120; ++n) {
        const std::int64_t points = pick(12, 40);
        const std::int64_t extents[] = {pick(1, 5), pick(1, 20)};
        const auto place = std::size_t(pick(0, 2));
        Shape shape = {extents[0], extents[1]};
        shape.insert(shape.begin() + (place == 0 ? 1 : place == 1 ? 0 : 2), points);
        const std::string reducer = reducers[std::size_t(pick(0, 5))];
        const bool is_place = reducer.starts_with("arg");
        const std::string relation =
            format(fmt::runtime(relations[std::size_t(pick(0, 3))]), pick(is_place ? 1 : 0, 9));
        const std::string condition = is_place ? "" : conditions[std::size_t(pick(0, 4))];
        const auto at = [&](const char* index) {
            return format(fmt::runtime(places[place]), index);
        };
        const std::string value =
            format("{}[l | {}{}](X[{}])", reducer, relation, condition, at("l"));
        const std::string text = format(
            "Y[{}] := {} where k in 0:{}", at("k"),
            format(fmt::runtime(results[is_place ? 0 : std::size_t(pick(0, 3))]), value), points);
        const DType dtype = dtypes[std::size_t(pick(0, 4))];
        Signature signature = {{"X", array(shape, dtype)}};
        for (const char* name : {"Z", "W"})
            if (text.find(format("{}[", name)) != std::string::npos)
                signature.emplace(name, array({points}, dtype));
        CAPTURE(text);
        CHECK(has_directive(": scan\n", text, signature, 1 << 20, Forced::scans));
    }
}

TEST_CASE("few points, and terms that move with the result, are no walk") {
    CHECK_FALSE(is_scan("Y[i,k] := sum[l | l <= k](X[i,l]) where k in 0:15", rows(9, 15)));
    CHECK_FALSE(is_scan("Y[i,k] := sum[l | l <= k](X[i,l]*X[i,k])", rows(9, 20)));
    CHECK_FALSE(
        is_scan("Y[i,k] := sum[l | l <= k && l >= k-3](X[i,l]) where k in 0:37", rows(9, 37)));
    CHECK_FALSE(is_scan("Y[i,k] := sum[l | l <= 2*k](X[i,l]) where k in 0:18", rows(9, 37)));
}

}  // namespace ricci::tests
