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

TEST_CASE("what loops keep, products pack, or each point has for itself stays where it is") {
    const Signature signature = {{"X", array({9, 20, 30})}, {"f", array({30})}, {"g", array({9})}};
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]*exp(g[b])", signature) == 0);
    CHECK(taken_out("Y[b,t,d] := exp(X[b,t,d])*f[d]", signature) == 0);
    CHECK(taken_out("Y[b,t,d] := X[b,t,d]/f[d] + f[d]^2", signature) == 0);
    CHECK(taken_out("Y[t,d] := X[b,t,d]*exp(g[b])", signature) == 0);
    CHECK(taken_out("Y[b,k] := X[b,t,d]*cos(t*k) where k in 0:16", signature) == 0);
    // Of the terms that a condition leaves out some would be read outside.
    CHECK(taken_out("Y[b,t,d] := sum[k in 0:9 | k+d < 30](X[b,t,k]*(exp(f[k+d]) + X[b,t,k]))",
                    signature) == 0);
    CHECK(taken_out("Y[b,d] := X[b,t,d]*cos(f[d])",
                    {{"X", array({4, 1, 30})}, {"f", array({30})}}) == 0);
}

}  // namespace ricci::tests
