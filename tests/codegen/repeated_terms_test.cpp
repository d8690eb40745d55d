// tests/codegen/repeated_terms_test.cpp – dear terms that few indices move, computed once
#include "codegen/repeated_terms.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// How many terms are taken out of a program of any size. Checks values.
std::size_t taken_out(const std::string& text, const Signature& arrays) {
    CAPTURE(text);
    Signature signature;
    for (const auto& [name, spec] : arrays)
        if (text.find(name + "[") != std::string::npos) signature.insert({name, spec});
    check_values(text, signature);
    const BoundProgram program = bound(text, signature);
    return codegen::with_repeated_terms(program, 0).equations.size() - program.equations.size();
}

}  // namespace

TEST_CASE("functions of the last index and others are computed once for all that take them") {
    const Signature signature = {{"X", array({9, 20, 30})}, {"f", array({30})}};
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]*cos(t*f[d])", signature) == 1);
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]*cos(t*f[d]) + sin(t*f[d])", signature) == 2);
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]*exp(-f[d])", signature) == 1);
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]*2.0^(-t*d/30.0)", signature) == 1);
    CHECK(taken_out("Y[n,k] := sum[t](X[n,t]*cos(k*t/16.0) - Z[n,t]*sin(k*t/16.0)) where k in 0:16",
                    {{"X", array({20, 16})}, {"Z", array({20, 16})}}) == 2);
}

TEST_CASE("equal terms of two equations stay equal") {
    // Of additions one is contracted, and the other would not be.
    const Signature signature = {{"a", array({30})}, {"f", array({30})}, {"X", array({900})}};
    check_values(
        "M[n] := max[d](a[d]*exp(f[d]) + X[n]); "
        "s := sum[n,d]((a[d]*exp(f[d]) + X[n]) == M[n])",
        signature);
    CHECK(taken_out("Y[n,d] := (a[d]*exp(f[d]) + f[d])*X[n]", signature) == 1);
}

TEST_CASE("arrays larger than all that an equation touches are not made") {
    const BoundProgram program =
        bound("Y[i] := sum[j,k](a[k] + exp(x[i]*y[j]))",
              {{"a", array({8})}, {"x", array({9000})}, {"y", array({9000})}});
    CHECK(codegen::with_repeated_terms(program, 0).equations.size() == program.equations.size());
}

TEST_CASE("what loops keep, products pack, or each point has for itself stays where it is") {
    const Signature signature = {{"X", array({9, 20, 30})}, {"f", array({30})}, {"g", array({9})}};
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]*exp(g[b])", signature) == 0);
    CHECK(taken_out("Y[b,t,d] := exp(X[b,t,d])*f[d]", signature) == 0);
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]/f[d] + f[d]^2", signature) == 0);
    CHECK(taken_out("Y[t,d] := X[b,t,d]*exp(g[b])", signature) == 0);
    CHECK(taken_out("Y[b,k] := X[b,t,d]*cos(t*k) where k in 0:16", signature) == 0);
    // Of the terms that a condition leaves out some would be read outside, and most not needed.
    CHECK(taken_out("Y[b,t,d] := sum[k in 0:9 | k+d < 30](X[b,t,k]*(exp(f[k+d]) + X[b,t,k]))",
                    signature) == 0);
    CHECK(taken_out(
              "Y[b,k] := sum[l | l >= k-2 && l <= k](X[b,0,l] + exp(f[k]*f[l])) where k in 0:20",
              signature) == 0);
    CHECK(taken_out("Y[b,d] := X[b,t,d]*cos(f[d])",
                    {{"X", array({4, 1, 30})}, {"f", array({30})}}) == 0);
}

}  // namespace ricci::tests
