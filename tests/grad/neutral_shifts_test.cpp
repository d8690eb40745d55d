// tests/grad/neutral_shifts_test.cpp – maxima that only keep numbers small have no derivative
#include "grad/neutral_shifts.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"

namespace ricci::tests {
namespace {

/// The names of the maxima that the outputs named (none: the result) do not depend on.
std::string neutral(const std::string& text, const std::vector<std::string>& outputs = {}) {
    const Program program = canonicalise(parse_program(text));
    std::vector<TensorId> ids;
    if (outputs.empty()) ids.push_back(program.result());
    for (const std::string& name : outputs) ids.push_back(program.output(name).value());
    std::vector<std::string> names;
    for (const TensorId id : grad::neutral_shifts(program, ids))
        names.push_back(program.at(id).name);
    return join(names, " ");
}

TEST_CASE("the maximum of a softmax, of its logarithm, of a log-sum-exp") {
    CHECK(neutral("m[i] := max[k](X[i,k]); s[i] := sum[k](exp(X[i,k]-m[i]));"
                  "P[i,j] := exp(X[i,j]-m[i])/s[i]") == "m");
    CHECK(neutral(
              "m[i] := max[k](X[i,k]); P[i,j] := X[i,j] - m[i] - log(sum[k](exp(X[i,k]-m[i])))") ==
          "m");
    CHECK(neutral("y[i] := logsumexp[k](X[i,k])") == "t1");
    CHECK(neutral("m := max[k](x[k]); y := (sum[k](exp(x[k]-m)*v[k]))/sum[k](exp(x[k]-m))") == "m");
    CHECK(neutral("m := min[k](x[k]); y := log(sum[k](exp(m-x[k]))) - m") == "m");
}

TEST_CASE("the maxima of blocks, put together") {
    CHECK(neutral("m[b] := max[k](X[b,k]); l[b] := sum[k](exp(X[b,k]-m[b])); M := max[b](m[b]);"
                  "L := sum[b](l[b]*exp(m[b]-M)); y := M + log(L)") == "m M");
}

TEST_CASE("of choices whose other branch is 0, or minus infinity before an exponential") {
    const std::string softmax = "s[i] := sum[k](E[i,k]); P[i,j] := E[i,j]/s[i]";
    const std::string largest = "m[i] := max[k | k <= i](X[i,k]); ";
    CHECK(neutral(largest + "E[i,k] := k <= i ? exp(X[i,k]-m[i]) : 0;" + softmax) == "m");
    CHECK(neutral(largest + "E[i,k] := k > i ? 0 : exp(X[i,k]-m[i]);" + softmax) == "m");
    CHECK(neutral(largest + "E[i,k] := exp(k <= i ? X[i,k]-m[i] : -inf);" + softmax) == "m");
    CHECK(neutral(largest + "E[i,k] := exp(k > i ? -inf : X[i,k]-m[i]);" + softmax) == "m");
    CHECK(neutral(largest + "E[i,k] := k <= i ? exp(X[i,k]-m[i]) : 1e-9;" + softmax) == "");
    CHECK(neutral(largest + "E[i,k] := exp(k <= i ? X[i,k]-m[i] : 0);" + softmax) == "");
    CHECK(neutral(largest + "E[i,k] := exp(k <= i ? X[i,k]-m[i] : -1e9);" + softmax) == "");
    CHECK(neutral(largest + "E[i,k] := k <= i ? X[i,k]-m[i] : 0;" + softmax) == "");
}

TEST_CASE("through arrays that are read at other places") {
    CHECK(neutral("m[i] := max[k](X[i,k]); E[i,k] := exp(X[i,k]-m[i]); s[i] := sum[k](E[i,k]);"
                  "T[k,i] := E[i,k]/s[i]; Y[i] := T[0,i] + T[1,i]") == "m");
    CHECK(neutral("m[i] := max[k](X[i,k]); E[i,k] := exp(X[i,k]-m[i]); s[i] := sum[k](E[i,k]);"
                  "T[i,k] := E[k,i]/s[i]") == "");
    CHECK(neutral("m[i] := max[k](X[i,k]); P[i,j] := exp(X[i,j]-m[j])/sum[k](exp(X[i,k]-m[i]))") ==
          "");
}

TEST_CASE("a maximum that is left over has a derivative") {
    CHECK(neutral("Y[i,j] := X[i,j] - max[k](X[i,k])") == "");
    CHECK(neutral("m := max[k](x[k]); y := sum[k](exp(x[k]-m))") == "");
    CHECK(neutral("m := max[k](x[k]); y := sum[k](exp(x[k]-m))/sum[k](exp(x[k]-2*m))") == "");
    CHECK(neutral("m := max[k](x[k]); y[k] := (x[k]-m) + i64(m)") == "");
    CHECK(neutral("m := max[k](x[k]); y := 2*m + log(sum[k](exp(x[k]-m)))") == "");
    CHECK(neutral("m := max[k](x[k]); y := m + log(sum[k](1 + exp(x[k]-m)))") == "");
    CHECK(neutral("m := max[k](x[k]); y := x[0] > 0 ? m : x[0]") == "");
    CHECK(neutral("m := max[k](x[k]); y[k] := x[k] - m; y[i] += m") == "");
}

TEST_CASE("reads of two places that turn out to be one count twice") {
    const auto of = [](const std::string& rest) {
        return neutral("m[i] := max[k](X[i,k]); " + rest);
    };
    CHECK(of("T[i,j] := Z[i,j] - m[i] - m[j]; y[i] := T[i,i] + m[i]") == "");
    CHECK(of("T[i,j] := Z[i,j] - m[i] - m[j]; y[i] := T[i,i] + m[i] + m[i]") == "m");
    CHECK(of("T[i,j] := exp(Z[i,j]-m[i])/exp(m[j]); y[i] := T[i,i]*exp(m[i])") == "");
    CHECK(of("T[i,j] := m[i] - m[j]; y[i] := T[i,i] + X[i,0]") == "m");
    CHECK(of("T[i,j] := m[i] - m[j]; y[i] := T[i,i] - m[i]") == "");
    CHECK(of("T[i,j,k] := exp(Z[i,j]-m[i]-m[j]-m[k]); y[i,j] := T[i,j,j]*exp(m[i]+m[j])") == "");
}

TEST_CASE("what outputs are asked for decides") {
    const std::string text = "m[i] := max[k](X[i,k]); y[i] := m[i] + log(sum[k](exp(X[i,k]-m[i])))";
    CHECK(neutral(text, {"y"}) == "m");
    CHECK(neutral(text, {"y", "m"}) == "");
    CHECK(neutral(text, {"m"}) == "");
}

}  // namespace
}  // namespace ricci::tests
