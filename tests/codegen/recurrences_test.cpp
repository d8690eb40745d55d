// tests/codegen/recurrences_test.cpp – sums that products carry on, and sums that are apart
#include "codegen/recurrences.h"

#include <array>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/separate_sums.h"
#include "dsl/domain_limits.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Checks values on CPUs, on a GPU, and in plain loops.
void check_everywhere(const std::string& text, const Signature& signature) {
    check_values(text, signature);
    const BoundProgram program = bound(text, signature);
    CHECK(interpreted_difference(program, signature, example_gpu_target()) == "");
    Target plain = example_target(64);
    plain.is_plain = true;
    CHECK(interpreted_difference(program, signature, plain) == "");
}

/// Whether nothing of the program is over both points and results; checks values.
bool is_walk(const std::string& text, const Signature& all) {
    const Signature signature = named(text, all);
    check_everywhere(text, signature);
    const BoundProgram program =
        codegen::with_recurrences(codegen::with_separate_sums(bound(text, signature)));
    bool has_carry = false;
    for (const BoundEquation& equation : program.equations) {
        if (!equation.reduction) continue;
        has_carry |= bool(equation.reduction->carry);
        if (equation.reduction->reducer == Reducer::prod && equation.indices.size() > 2)
            return false;
    }
    return has_carry;
}

Signature two(std::int64_t count, std::int64_t points, DType dtype = DType::f32) {
    return {{"X", array({count, points}, dtype)}, {"a", array({count, points}, dtype)}};
}
/// Arrays of one row a point: `rows` of them, rows side by side.
Signature columns(std::int64_t count, std::int64_t points) {
    return {{"X", array({points, count})}, {"a", array({points, count})}};
}

std::string recurrence(const std::string& sum, const std::string& product,
                       std::int64_t results = 37) {
    return format("Y[b,t] := sum[s | {}](X[b,s]*prod[u | {}](a[b,u])) where t in 0:{}", sum,
                  product, results);
}

}  // namespace

TEST_CASE("a sum that products of the points between carry on is one walk") {
    for (const std::int64_t count : {1, 5, 9, 21})
        for (const std::int64_t points : {2, 7, 16, 33}) {
            CHECK(is_walk(recurrence("s <= t", "u > s && u <= t", points), two(count, points)));
            CHECK(is_walk(format("Y[t,b] := sum[s | s <= t](X[s,b]*prod[u | s < u && u <= t]"
                                 "(a[u,b])) where t in 0:{}",
                                 points),
                          columns(count, points)));
        }
    for (const DType dtype : {DType::f64, DType::i32, DType::bf16})
        CHECK(is_walk(recurrence("s <= t", "u > s && u <= t"), two(9, 37, dtype)));
}

TEST_CASE("the newest point has no factor of its own, or one, in either direction") {
    constexpr std::array walks = {
        std::array{"s <= t", "u > s && u <= t"},      std::array{"s <= t", "u >= s && u <= t"},
        std::array{"s <= t", "u >= s && u < t"},      std::array{"s < t", "u > s && u < t"},
        std::array{"s < t", "u > s && u <= t"},       std::array{"s <= t-2", "u > s && u <= t-2"},
        std::array{"s <= t+3", "u > s && u <= t+3"},  std::array{"s >= t", "u >= t && u < s"},
        std::array{"s >= t", "u > t && u <= s"},      std::array{"s >= t", "u >= t && u <= s"},
        std::array{"s > t", "u > t && u < s"},        std::array{"s >= t+2", "u >= t+2 && u < s"},
        std::array{"s >= t-4", "u >= t-4 && u <= s"}, std::array{"t-s >= 0", "u-s >= 1 && t >= u"}};
    for (const auto& [sum, product] : walks) {
        CAPTURE(sum);
        CAPTURE(product);
        CHECK(is_walk(recurrence(sum, product), two(9, 37)));
    }
}

TEST_CASE("products that reach further, stop earlier or leave points out are no carries") {
    constexpr std::array others = {std::array{"s <= t", "u > s && u < t"},
                                   std::array{"s <= t", "u > s+1 && u <= t"},
                                   std::array{"s <= t", "u > s && u <= t+1"},
                                   std::array{"s <= t", "u >= s && u <= t+2"},
                                   std::array{"s <= t", "u > s && u <= t && u != 5"},
                                   std::array{"s <= t", "u > s && u <= t && X[b,u] > 0"},
                                   std::array{"s <= t", "u > s"},
                                   std::array{"s <= t", "u <= t"},
                                   std::array{"s <= t", "u < s && u <= t"},
                                   std::array{"s <= t && s >= t-9", "u > s && u <= t"},
                                   std::array{"s != t", "u > s && u <= t"},
                                   std::array{"s <= 2*t", "u > s && u <= 2*t"},
                                   std::array{"s >= t", "u > s && u <= t"}};
    for (const auto& [sum, product] : others) {
        CAPTURE(sum);
        CAPTURE(product);
        CHECK_FALSE(is_walk(recurrence(sum, product), two(9, 37)));
    }
}

TEST_CASE("ranges of factors, points and results that differ") {
    const Signature signature = {{"X", array({9, 30})}, {"a", array({9, 50})}};
    for (const std::int64_t results : {12, 30, 31, 60})
        for (const char* product :
             {"u in 0:40 | u > s && u <= t", "u in 5:30 | u > s && u <= t",
              "u in 0:30 | u > s && u <= t", "u in 1:31 | u > s && u <= t",
              "u in 0:50 | u > s+4 && u <= t+4", "u in 0:20 | u >= s && u <= t"})
            for (const char* points : {"s", "s in 0:30", "s in 3:20"})
                check_everywhere(format("Y[b,t] := sum[{} | s <= t](X[b,s]*prod[{}](a[b,u]))"
                                        " where t in 0:{}",
                                        points, product, results),
                                 signature);
    check_values(
        "Y[b,t] := sum[s in 0:30 | s >= t](X[b,s]*prod[u in 0:50 | u > t && u <= s]"
        "(a[b,u])) where t in 0:20",
        signature);
    check_values(
        "Y[b,t] := sum[s in 4:30 | s >= t](X[b,s]*prod[u in 0:50 | u >= t && u < s]"
        "(a[b,u])) where t in 0:50",
        signature);
}

TEST_CASE("what would carry the first point is not looked at") {
    CHECK(
        is_walk("Y[b,t] := sum[s | s <= t](X[b,s]*prod[u | u > s && u <= t]"
                "(u == 0 ? nan : a[b,u])) where t in 0:37",
                two(9, 37)));
    CHECK(
        is_walk("Y[b,t] := sum[s in 0:37 | s <= t](X[b,s]*prod[u in 1:37 | u > s && u <= t]"
                "(a[b,u-1])) where t in 0:37",
                two(9, 37)));
    CHECK(
        is_walk("Y[b,t] := sum[s in 0:37 | s >= t](X[b,s]*prod[u in 0:36 | u >= t && u < s]"
                "(a[b,u+1])) where t in 0:37",
                two(9, 37)));
}

TEST_CASE("factors of results alone multiply the sum, where it has points") {
    const std::string product = "prod[u | u > s && u < t](a[b,u])";
    CHECK(is_walk(format("Y[b,t] := sum[s | s < t](X[b,s]*a[b,t]*{}) where t in 0:37", product),
                  two(9, 37)));
    CHECK(is_walk(format("Y[b,t] := sum[s | s < t](X[b,s]*a[b,t-1]*{}) where t in 0:37", product),
                  two(9, 37)));
    CHECK(is_walk(format("Y[b,t] := sum[s | s < t](-X[b,s]*{}/(t == 0 ? nan : 2.5))"
                         " where t in 0:37",
                         product),
                  two(9, 37)));
    check_everywhere(
        format("Y[b,t] := sum[s | s < t](X[b,s]*J[b,t]*{}) where t in 0:37", product),
        {{"X", array({9, 37})}, {"a", array({9, 37})}, {"J", array({9, 37}, DType::i32)}});
    // Later statements that read elsewhere under conditions.
    CHECK(
        is_walk("H[b,t] := sum[s | s <= t](X[b,s]*prod[u | u > s && u <= t](a[b,u]))"
                " where t in 0:37; Y[b,t] := t > 0 ? X[b,pad(t-1)]*H[b,t] : H[b,t]",
                two(9, 37)));
}

TEST_CASE("values in which choices or data decide what is read") {
    Signature signature = two(9, 37);
    signature.emplace("J", array({37}, DType::i32));
    for (const char* value :
         {"X[b,pad(s-1)]", "(s > 2 ? X[b,pad(s-3)] : 1)", "X[b,clamp(J[s],0,36)]",
          "X[b,wrap(s+J[s])]", "(J[s] >= 0 && J[s] < 37 ? X[b,J[s]] : 0)"}) {
        const std::string text = format(
            "Y[b,t] := sum[s in 0:37 | s <= t]({}*prod[u | u > s && u <= t](a[b,u]))"
            " where t in 0:37",
            value);
        CHECK(is_walk(text, signature));
    }
    CHECK(is_walk(
        "Z[b,s] := s > 0 ? X[b,pad(s-1)] : 3 where s in 0:37; Y[b,t] := sum[s | s <= t](Z[b,s]"
        "*prod[u | u > s && u <= t](a[b,u])) where t in 0:37",
        two(9, 37)));
}

TEST_CASE("carries that stay along rows, several of them, and of further indices") {
    const Signature signature = {{"X", array({3, 37, 20})},
                                 {"a", array({3, 37})},
                                 {"c", array({20})},
                                 {"W", array({20, 7})}};
    const std::string between = "u > s && u <= t";
    CHECK(is_walk(format("Y[b,t,d] := sum[s | s <= t](X[b,s,d]*prod[u in 0:37 | {}](c[d]))"
                         " where t in 0:37",
                         between),
                  signature));
    CHECK(is_walk(format("Y[b,t,d] := sum[s | s <= t](X[b,s,d]*prod[u in 0:37 | {}](W[d,3]))"
                         " where t in 0:37",
                         between),
                  signature));
    CHECK(is_walk(format("Y[b,t,d] := sum[s | s <= t](X[b,s,d]*prod[u | {0}](a[b,u])"
                         "*prod[u in 0:37 | {0}](sigmoid(c[d]))) where t in 0:37",
                         between),
                  signature));
    CHECK(is_walk(format("Y[b,t,d,e] := sum[s | s <= t](X[b,s,d]*W[d,e]*prod[u | {}]"
                         "(tanh(a[b,u]))) where t in 0:37",
                         between),
                  signature));
}

TEST_CASE("powers and exponentials of the distance between points carry a sum on") {
    const Signature signature = {{"X", array({9, 37})}, {"a", array({9})}};
    const std::string form = "Y[b,t] := sum[s | {}](X[b,s]*{}) where t in 0:37";
    for (const char* factor :
         {"0.9^(t-s)", "a[b]^(t-s)", "0.5^(t-s+3)", "2.0^(t-s)", "exp(-a[b]*(t-s))", "exp((s-t)/3)",
          "exp(0.25*(t-s+2)*a[b]/5)*0.7^(t-s)", "exp(-(t-s))*abs(a[b])"})
        for (const char* relation : {"s <= t", "s < t"}) {
            const std::string text = format(fmt::runtime(form), relation, factor);
            CAPTURE(text);
            CHECK(is_walk(text, signature));
        }
    for (const char* factor : {"0.9^(s-t)", "a[b]^(s-t+1)", "exp((t-s)/3)*exp(a[b]*(t-s))"})
        CHECK(is_walk(format(fmt::runtime(form), "s >= t", factor), signature));
    for (const char* factor :
         {"1.5^(s-t)", "0.5^(t-s-1)", "0.9^(t+s)", "0.99^(2*t-2*s)", "exp(X[b,t]-X[b,s])",
          "exp((t-s)*(t-s)/99)", "exp(t/3-s/3)*exp(a[b]*(s-t))"})
        CHECK_FALSE(is_walk(format(fmt::runtime(form), "s <= t", factor), signature));
    // The power goes on where there are no points any more.
    CHECK_FALSE(is_walk("Y[b,t] := sum[s | s <= t](X[b,s]*0.9^(t-s)) where t in 0:45", signature));
}

TEST_CASE(
    "conversions that round to integers, wrap or saturate stand between a sum and its carry") {
    const Signature signature = {
        {"X", array({9, 37})}, {"a", array({9})}, {"g", array({9}, DType::i8)}};
    const std::string form = "Y[b,t] := sum[s | s <= t](X[b,s]*{}) where t in 0:37";
    for (const char* factor :
         {"g[b]^(t-s)", "i64(1.5^(t-s))", "u8(exp(0.3*(t-s)))", "0.99^(i8(9*(t-s)))",
          "exp(-0.01*i8(9*(t-s)))", "f16(0.9^(t-s))", "f32(i8(g[b]^(t-s)))", "exp(0.2*((t-s)//2))"})
        CHECK_FALSE(is_walk(format(fmt::runtime(form), factor), signature));
    CHECK(is_walk(format(fmt::runtime(form), "f32(a[b]^(t-s))*f32(exp(-0.1*(t-s)))"), signature));
}

TEST_CASE("exponentials of no steps are NaN where their factors are") {
    const Signature signature = {{"X", array({9, 37})}, {"a", array({9})}};
    for (const char* factor : {"exp(nan*(t-s))", "exp(inf*(t-s))", "exp((t-s)/(a[b]-a[b]))",
                               "exp((b < 4 ? nan : a[b])*(t-s))"})
        CHECK(is_walk(format("Y[b,t] := sum[s | s <= t](X[b,s]*{}) where t in 0:37", factor),
                      signature));
}

TEST_CASE("rates that are the same at each step are not rounded to f32") {
    CHECK(compiled_difference(
              bound("Y[t] := sum[s | s <= t](x[s]*exp(-0.001*(t-s)) + 0*x[t]) where t in 0:4000",
                    {{"x", array({4000})}}),
              {{"x", array({4000})}}) == "");
    const codegen::Plan plan =
        codegen::plan(bound("Y[t] := sum[s | s <= t](x[s]*0.999^(t-s)) where t in 0:4000",
                            {{"x", array({4000})}}),
                      example_target(64));
    CHECK(str(plan.nests[0]).find("acc: f64[1]") != std::string::npos);
}

TEST_CASE("further conditions say which points count, or which results") {
    Signature signature = two(9, 37);
    signature.emplace("W", array({9, 37}));
    const std::string product = "X[b,s]*prod[u | u > s && u <= t](a[b,u])";
    for (const char* condition : {"s <= t && W[b,s] > 0", "s <= t && s >= 3", "s <= t && t > 5",
                                  "s <= t && b > 1", "s <= t && W[b,t] > 0 && s != 4 && b != 2"})
        CHECK(is_walk(format("Y[b,t] := sum[s | {}]({}) where t in 0:37", condition, product),
                      signature));
    // Inside under a condition of results alone.
    CHECK_FALSE(
        is_walk("Y[b,t] := sum[s | s <= t && b > 1](X[b-2,s]*prod[u | u > s && u <= t]"
                "(a[b,u])) where t in 0:37, b in 0:9",
                signature));
    CHECK_FALSE(
        is_walk(format("Y[b,t] := sum[s | s <= t && W[b,s] > W[b,t]]({}) where t in 0:37", product),
                signature));
}

TEST_CASE("the one point of a sum is looked through, under its condition") {
    const Signature signature = {{"X", array({20})}, {"C", array({20})}, {"a", array({20})}};
    const std::string text =
        "D[t,s] := sum[r | {} && s == r](C[t]*X[r]) where s in 0:20, t in 0:20; Y[u] := "
        "sum[t,s | u > s && u <= t && s <= t](D[t,s]*prod[v | v > s && v < u](a[v])*"
        "prod[v | v <= t && v > u](a[v])) where u in 0:20";
    CHECK(is_walk(format(fmt::runtime(text), "r <= t"), signature));
    CHECK_FALSE(is_walk(format(fmt::runtime(text), "r < t"), signature));
}

TEST_CASE("arrays of which some elements are not named are read, not written out") {
    const Signature signature = two(20, 20);
    CHECK_FALSE(
        is_walk("P[t,t] := prod[u | u > t-3 && u <= t](a[0,u]) where t in 0:20; Y[t] := "
                "sum[s | s <= t](X[0,s]*P[t,s])",
                signature));
    check_everywhere("D[i,i] := X[i,i]*a[i,i]; Y[i] := sum[j,k | j <= i && k > i](D[i,j]*a[k,i])",
                     signature);
}

TEST_CASE("a running log-sum-exp and its gradient are walks, of infinite elements and NaN too") {
    const Signature signature = {{"X", array({9, 37})}, {"d", array({9, 37})}};
    for (const char* relation : {"s <= t", "s >= t"})
        for (const char* element :
             {"X[b,s]", "40*X[b,s]", "(s < 3 || s > 30 ? -inf : X[b,s])", "(s == 9 ? inf : X[b,s])",
              "(s == 9 && b > 3 ? nan : X[b,s])", "(b == 2 ? -inf : X[b,s]/0.01)"}) {
            const std::string greatest = format(
                "Z[b,s] := {}; M[b,t] := max[s | {}](Z[b,s]) where t in 0:37; ", element, relation);
            CHECK(is_walk(format("Z[b,s] := {}; Y[b,t] := logsumexp[s | {}](Z[b,s])"
                                 " where t in 0:37",
                                 element, relation),
                          signature));
            CHECK(is_walk(format("{}Y[b,s] := sum[t in 0:37 | {}](d[b,t]*exp(Z[b,s] - "
                                 "(isfinite(M[b,t]) ? M[b,t] : 0)))",
                                 greatest, relation),
                          signature));
        }
    // Not the maximum of what is summed, or not made finite: what is lost may be needed.
    for (const char* term :
         {"exp(X[b,s] - M[b,t])", "exp(d[b,s] - (isfinite(M[b,t]) ? M[b,t] : 0))",
          "exp(X[b,s] - (isfinite(M[b,t]) ? M[b,t] : 1))"})
        CHECK_FALSE(is_walk(format("M[b,t] := max[s | s <= t](X[b,s]) where t in 0:37; "
                                   "Y[b,t] := sum[s | s <= t]({})",
                                   term),
                            signature));
    CHECK_FALSE(
        is_walk("M[b,t] := max[s | s < t](X[b,s]) where t in 0:37; Y[b,t] := "
                "sum[s | s <= t](exp(X[b,s] - (isfinite(M[b,t]) ? M[b,t] : 0)))",
                signature));
}

TEST_CASE("sums over further indices are taken after the walk") {
    const Signature signature = {
        {"X", array({3, 20, 5})}, {"C", array({3, 20, 5})}, {"a", array({3, 20, 5})}};
    CHECK(
        is_walk("Y[b,t] := sum[s,d | s <= t](C[b,t,d]*X[b,s,d]*prod[u | u > s && u <= t]"
                "(a[b,u,d])) where t in 0:20",
                signature));
    CHECK(
        is_walk("Y[b,s,d] := sum[t,e | s < t](C[b,t,e]*X[b,s,d]*prod[u | u > s && u < t]"
                "(a[b,u,e])/(2+abs(C[b,s,d]))) where s in 0:20",
                signature));
}

TEST_CASE("rows may be as long as a walk can go: pairs of points are counted where they are left") {
    const Signature row = {{"x", array({10'000'000})}, {"a", array({10'000'000})}};
    const std::string product = "prod[u | u > s && u <= t](a[u])";
    const std::string walk =
        format("y[t] := sum[s | s <= t](x[s]*{}) where t in 0:10000000", product);
    CHECK(codegen::plan(bound(walk, row), example_target(64)).nests.size() == 1);
    const std::string other =
        format("y[t] := sum[s | s != t](x[s]*{}) where t in 0:10000000", product);
    CHECK_THROWS_WITH(
        codegen::plan(bound(other, row), example_target(64)),
        "limit: the statement goes through more than 72057594037927936 (2^56) points: `t` in "
        "0:10000000, `s` in 0:10000000, `u` in 0:10000000\n"
        "  = hint: use smaller ranges or arrays");
}

TEST_CASE("the reference refuses what it would not live to see") {
    const Signature row = {{"x", array({300'000'000})}};
    const BoundProgram program = bound("y[t] := sum[s | s <= t](x[s]) where t in 0:300000000", row);
    CHECK_THROWS_WITH_AS(check_points(program),
                         "limit: the statement goes through more than 72057594037927936 (2^56) "
                         "points: `t` in 0:300000000, `s` in 0:300000000\n"
                         "  = hint: use smaller ranges or arrays",
                         Error);
}

TEST_CASE("plain loops of a walk are those that people would write") {
    Target plain = example_target(64);
    plain.is_plain = true;
    const codegen::Plan plan = codegen::plan(
        bound("y[t] := sum[s | s <= t](x[s]*prod[u | u > s && u <= t](a[u])) where t in 0:9",
              {{"x", array({9})}, {"a", array({9})}}),
        plain);
    std::string text;
    for (const codegen::Nest& nest : plan.nests) text += str(nest);
    CHECK(text ==
          "kernel k0_y(x: f32[9], a: f32[9], out y: f32[9])\n"
          "  registers acc: f32[1]\n"
          "  parallel task in 0..1\n"
          "    acc[0] = 0.0\n"
          "    acc[0] sum= x[0]\n"
          "    y[0] = acc[0]\n"
          "    for t in 0..8\n"
          "      acc[0] = (acc[0] * a[t + 1]) + x[t + 1]\n"
          "      y[t + 1] = acc[0]\n");
}

TEST_CASE("sums that no factor ties together are taken apart, and are nothing where one is") {
    const auto is_apart = [](const std::string& text, const Signature& all) {
        const Signature signature = named(text, all);
        check_everywhere(text, signature);
        for (const BoundEquation& equation :
             codegen::with_separate_sums(bound(text, signature)).equations)
            if (equation.reduction && equation.reduction->indices.size() > 1) return false;
        return true;
    };
    const Signature signature = {{"A", array({12, 20})}, {"B", array({20, 15})}};
    const std::string form = "Y[i,j] := sum[k,l | {}](A[i,k]*B[l,j]) where i in 0:12, j in 0:15";
    for (const char* condition : {"k < i && l >= i", "k < i && l >= i && k <= l", "k <= 2 && l > j",
                                  "k < i && l >= j+10", "k <= l && k < i && l > i"})
        CHECK(is_apart(format(fmt::runtime(form), condition), signature));
    for (const char* condition : {"k <= l", "k < i && l >= i && k != l", "k < i && A[i,k] < B[l,j]",
                                  "k < i && l >= i && k+l < 20"})
        CHECK_FALSE(is_apart(format(fmt::runtime(form), condition), signature));
    CHECK(
        is_apart("Y[i] := sum[k,l | k < i && l >= i](-A[i,k]*(i == 0 ? nan : B[l,i])/2)"
                 " where i in 0:12",
                 signature));
    // Inside only where the other sum has points.
    CHECK_FALSE(
        is_apart("Y[i] := sum[k in 0:9,l in 0:9 | k < i-6 && l < i](A[i,k]*B[i-7+l,0])"
                 " where i in 0:12",
                 signature));
}

TEST_CASE("random recurrences compute what the reference does") {
    std::mt19937 random(11);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return low + std::int64_t(random() % std::uint64_t(high - low + 1));
    };
    constexpr std::array relations = {"s <= t", "s < t", "s >= t", "s > t"};
    constexpr std::array above = {"u > s", "u >= s"};
    constexpr std::array below = {"u < s", "u <= s"};
    constexpr std::array up_to = {"u <= t", "u < t"};
    constexpr std::array from = {"u >= t", "u > t"};
    constexpr std::array places = {"i,{0},j", "{0},i,j", "i,j,{0}"};
    constexpr std::array results = {"{}", "{}", "{} + W[t]", "2*relu({})"};
    constexpr std::array extra = {"", "", "*V[t]", "*V[s]", "/(2+abs(V[t]))"};
    constexpr std::array dtypes = {DType::f32, DType::f32, DType::f64, DType::i32};
    for (int n = 0; n < 60; ++n) {
        const std::int64_t points = pick(2, 30);
        const std::int64_t extents[] = {pick(1, 5), pick(1, 20)};
        const auto place = std::size_t(pick(0, 2));
        Shape shape = {extents[0], extents[1]};
        shape.insert(shape.begin() + (place == 0 ? 1 : place == 1 ? 0 : 2), points);
        const auto relation = std::size_t(pick(0, 3));
        const bool is_suffix = relation > 1;
        const auto side = std::size_t(pick(0, 1));
        const auto other = std::size_t(pick(0, 1));
        const auto at = [&](const char* index) {
            return format(fmt::runtime(places[place]), index);
        };
        const std::string value =
            format("sum[s | {}](X[{}]*prod[u | {} && {}](a[{}]){})", relations[relation], at("s"),
                   is_suffix ? below[side] : above[side], is_suffix ? from[other] : up_to[other],
                   at("u"), extra[std::size_t(pick(0, 4))]);
        const std::string text =
            format("Y[{}] := {} where t in 0:{}", at("t"),
                   format(fmt::runtime(results[std::size_t(pick(0, 3))]), value), points);
        const DType dtype = dtypes[std::size_t(pick(0, 3))];
        Signature signature = {{"X", array(shape, dtype)}, {"a", array(shape, dtype)}};
        for (const char* name : {"V", "W"})
            if (text.find(format("{}[", name)) != std::string::npos)
                signature.emplace(name, array({points}, dtype));
        CAPTURE(text);
        check_everywhere(text, signature);
    }
}

}  // namespace ricci::tests
