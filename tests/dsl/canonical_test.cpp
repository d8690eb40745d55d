// tests/dsl/canonical_test.cpp – one reduction an equation, equal reductions shared
#include "dsl/canonical.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/walk.h"
#include "tests/support/equations_text.h"

using namespace ricci;

namespace {

std::string canonical(const std::string& text) {
    return tests::equations_text(canonicalise(parse_program(text)));
}

}  // namespace

TEST_CASE("a reduction that is the whole value stays in its statement") {
    CHECK(canonical("Y[n,o] := W[o,k]*X[n,k]") == "Y[n,o] := sum[k](W[o,k]*X[n,k])\n");
}

TEST_CASE("a reduction beside other terms becomes a temporary laid out like the target") {
    CHECK(canonical("Y[n,o] := W[o,k]*X[n,k] + b[o]") ==
          "t1[n,o] := sum[k](W[o,k]*X[n,k])\n"
          "Y[n,o] := t1[n,o] + b[o]\n");
}

TEST_CASE("reductions equal up to the names of indices are one: softmax") {
    CHECK(canonical(
              "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))") ==
          "t1[i] := max[k](X[i,k])\n"
          "t2[i] := sum[k](exp(X[i,k] - t1[i]))\n"
          "S[i,j] := exp(X[i,j] - t1[i])/t2[i]\n");
}

TEST_CASE("a mean is a sum over the count of its domain: layer norm") {
    CHECK(canonical("Y[n,d] := (X[n,d] - mean[c](X[n,c])) * g[d] / sqrt(mean[c]((X[n,c] - "
                    "mean[e](X[n,e]))^2) + 1e-5) + b[d]") ==
          "t1[n] := sum[c](1.0*X[n,c])\n"
          "t2[n] := sum[c](1.0*(X[n,c] - t1[n]/size(X,1))^2)\n"
          "Y[n,d] := (X[n,d] - t1[n]/size(X,1))*g[d]/sqrt(t2[n]/size(X,1) + 1e-5) + b[d]\n");
}

TEST_CASE("a mean under a condition counts the points where it holds") {
    CHECK(canonical("y[i] := mean[k | k <= i](A[i,k])") ==
          "t1[i] := sum[k | k <= i](1)\n"
          "points := min[i](t1[i] - 1)\n"
          "t2[i] := sum[k | k <= i](1.0*A[i,k])\n"
          "y[i] := t2[i]/t1[i]\n");
}

TEST_CASE("a mean requires that its range has a point") {
    const Program program = canonicalise(parse_program("y := mean[i](x[i])"));
    REQUIRE(program.requirements.size() == 1);
    CHECK(program.requirements[0].kind == Requirement::Kind::not_empty);
    CHECK(program.requirements[0].otherwise.message ==
          "`mean` over nothing: index `i` runs over {a}:{b}");
}

TEST_CASE("the other derived reducers are sums and maxima") {
    CHECK(canonical("a := any[i](x[i] > 0)") == "a := max[i](x[i] > 0)\n");
    CHECK(canonical("a := all[i](x[i])") == "a := min[i](x[i] != 0)\n");
    CHECK(canonical("a := count[i](x[i] > 1)") == "a := sum[i](i64(x[i] > 1))\n");
    CHECK(canonical("a := norm[i](x[i])") ==
          "t1 := sum[i](abs2(1.0*x[i]))\n"
          "a := sqrt(t1)\n");
    CHECK(canonical("a := logsumexp[i](x[i])") ==
          "t1 := max[i](x[i])\n"
          "t2 := sum[i](exp(x[i] - (isfinite(t1) ? t1 : 0.0)))\n"
          "a := (isfinite(t1) ? t1 : 0.0) + log(t2)\n");
}

TEST_CASE("a reduction that an earlier statement made is read from there") {
    CHECK(canonical("m[i] := max[k](X[i,k])\nY[i,j] := exp(X[i,j] - max[q](X[i,q]))") ==
          "m[i] := max[k](X[i,k])\n"
          "Y[i,j] := exp(X[i,j] - m[i])\n");
}

TEST_CASE("a target that is updated later is not read in place of a reduction") {
    CHECK(canonical("m[i] := max[k](X[i,k])\nm[i] += 1\nY[i,j] := X[i,j] - max[q](X[i,q])") ==
          "m[i] := max[k](X[i,k])\n"
          "m[i] = m[i] + 1\n"
          "t1[i] := max[q](X[i,q])\n"
          "Y[i,j] := X[i,j] - t1[i]\n");
}

TEST_CASE("an update between two equal reductions keeps them apart") {
    CHECK(canonical("a := 1 + sum[i](B[i])\nB[i] *= 2\nc := 1 + sum[i](B[i])") ==
          "t1 := sum[i](B[i])\n"
          "a := 1 + t1\n"
          "B[i] = B[i]*2\n"
          "t2 := sum[i](B[i])\n"
          "c := 1 + t2\n");
}

TEST_CASE("an update of every element computes the new value from the old one") {
    CHECK(canonical("B[i] *= s[i]") == "B[i] = B[i]*s[i]\n");
    CHECK(canonical("B[i] -= A[i,k]*x[k]") ==
          "t1[i] := sum[k](A[i,k]*x[k])\n"
          "B[i] = B[i] - t1[i]\n");
    CHECK(canonical("B[i] max= x[i]") == "B[i] = B[i] >= x[i] || isnan(B[i]) ? B[i] : x[i]\n");
}

TEST_CASE("an update of some elements keeps its operator, `-=` adds the negated value") {
    CHECK(canonical("O[i+k] += x[i]*w[k]") == "O[i+k] += x[i]*w[k]\n");
    CHECK(canonical("O[i+k] -= x[i]*w[k]") == "O[i+k] += -(x[i]*w[k])\n");
    CHECK(canonical("O[2*i] -= A[i,k]") == "O[2*i] += sum[k](-A[i,k])\n");
}

TEST_CASE("a temporary over a range that does not start at 0 is shifted") {
    CHECK(canonical("y[i] := sum[k in 1:4](max[j](A[k-1,j])*B[i])") ==
          "t1[k+_] := max[j](A[k-1,j]) where k in 1:4\n"
          "y[i] := sum[k in 1:4](t1[k-1]*B[i])\n");
}

TEST_CASE("a temporary takes the condition that keeps its reads in bounds") {
    CHECK(canonical("y[i] := sum[k in 0:9 | k >= 1](max[j](A[k-1,j])*B[i])") ==
          "t1[k] := max[j | k >= 1](A[k-1,j]) where k in 0:9\n"
          "y[i] := sum[k in 0:9 | k >= 1](t1[k]*B[i])\n");
}

TEST_CASE("what guards a gather stands in front of it in its order") {
    const std::string sum = "sum[j,k | t-j >= 0 && t-j < 2]";
    CHECK(canonical("Y[t] := " + sum +
                    "(A[t-j,K[k]] > 0 ? sum[l | A[t-j,K[l]] > j](1) : 0) where t in 0:3") ==
          "t1[t,j+_,k] := sum[l | t-j >= 0 && t-j < 2 && A[t-j,K[k]] > 0 && A[t-j,K[l]] > j](1) "
          "where t in 0:3\n"
          "Y[t] := " +
              sum + "(A[t-j,K[k]] > 0 ? t1[t,j+size(A,0)-3,k] : 0) where t in 0:3\n");
}

TEST_CASE("what guards a gather does not speak of the indices of another reduction that it is in") {
    CHECK(
        canonical("Y[i] := X[i,0] > 0 ? logsumexp[k | k >= 2](X[H[i],k]) : 0") ==
        "t1[i] := max[k | X[i,0] > 0 && k >= 2](X[H[i],k])\n"
        "t2[i] := sum[k | X[i,0] > 0 && k >= 2](exp(X[H[i],k] - (isfinite(t1[i]) ? t1[i] : 0.0)))\n"
        "Y[i] := X[i,0] > 0 ? (isfinite(t1[i]) ? t1[i] : 0.0) + log(t2[i]) : 0\n");
}

TEST_CASE("a condition around a reduction that cannot leave its array is no part of it") {
    CHECK(canonical("y[i] := sum[k | k <= i](max[j](A[k,j])*B[i])") ==
          "t1[k] := max[j](A[k,j])\n"
          "y[i] := sum[k | k <= i](t1[k]*B[i])\n");
}

TEST_CASE("a temporary avoids the names that are taken") {
    CHECK(canonical("Y[i] := t1[i] + sum[k](A[i,k])") ==
          "t2[i] := sum[k](A[i,k])\n"
          "Y[i] := t1[i] + t2[i]\n");
}

TEST_CASE("canonical form is stable") {
    const Program once = canonicalise(parse_program(
        "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))\n"
        "S[i,j] *= mean[k](X[i,k])\nz := logsumexp[i,j](S[i,j])"));
    const Program twice = canonicalise(once);
    REQUIRE(once.equations.size() == twice.equations.size());
    for (std::size_t n = 0; n < once.equations.size(); ++n)
        CHECK(once.equations[n].value == twice.equations[n].value);
}

TEST_CASE("no two equations share an index") {
    const Program program = canonicalise(
        parse_program("y[i] := mean[k | k <= i](A[i,k]) + norm[k](A[i,k]) + logsumexp[k](A[i,k])"));
    std::set<IndexId> seen;
    for (const Equation& equation : program.equations) {
        std::set<IndexId> own(equation.indices.begin(), equation.indices.end());
        if (const auto* reduce = std::get_if<Reduce>(&equation.value->term))
            own.insert(reduce->indices.begin(), reduce->indices.end());
        for (IndexId i : own) CHECK(seen.insert(i).second);
    }
}
