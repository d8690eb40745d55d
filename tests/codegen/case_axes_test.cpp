// tests/codegen/case_axes_test.cpp – short axes of which terms tell the places apart
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

bool has_choice(const std::string& text, const Signature& signature) {
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    return plan.find("select(") != std::string::npos;
}

/// Two numbers of four bits in each byte, scaled by groups of 32.
const Signature packed = {{"W", array({20, 64}, DType::u8)},
                          {"s", array({20, 4})},
                          {"x", array({128})},
                          {"X", array({12, 128})}};
const std::string number = "(s[o,k//32]*(f32((W[o,k//2]//(k%2 == 0 ? 1 : 16))%16)-8)*";

}  // namespace

TEST_CASE("places of a sum that its terms tell apart are terms of one sum") {
    const std::string text = "y[o] := sum[k]" + number + "x[k])";
    CHECK_FALSE(has_choice(text, packed));
    for (const char* reducer : {"sum", "prod", "max", "min"})
        check_values("y[o] := " + std::string(reducer) + "[k]" + number + "x[k])", packed);
    check_values("y[o] := sum[k]" + number + "x[k]) where k in 2:128", packed);
    const Signature signature = {{"A", array({40, 64})}, {"x", array({128})}};
    check_values("y[i] := sum[j,e](A[i,j]*(e == 0 ? 2 : exp(A[i,j]))*x[2*j+e]) where e in 0:2",
                 signature);
    check_values("y[i] := max[j,e](e == 2 ? A[i,j] : x[j+e]) where e in 0:3", signature);
}

TEST_CASE("places that conditions choose, and those of extremes' places, stay an axis") {
    const Signature signature = {{"A", array({9, 64})}, {"x", array({128})}};
    check_values("y[i] := sum[j,e | e <= i](e == 0 ? A[i,j] : x[j+e]) where e in 0:3", signature);
    check_values("y[i] := argmax[e](e == 1 ? A[i,3] : x[i+e]) where e in 0:4", signature);
    check_values("y[i] := argmin[e](e == 1 ? A[i,3] : A[i,e]) where e in 0:64", signature);
}

TEST_CASE("columns of a product whose terms tell places apart divide by constants") {
    const std::string text = "Y[n,o] := sum[k]" + number + "X[n,k])";
    const std::string plan = str(codegen::plan(bound(text, packed), example_target(64)));
    CHECK_MESSAGE(plan.find("Y_columns") != std::string::npos, plan);
    CHECK_MESSAGE(plan.find("unroll k in 0..2") != std::string::npos, plan);
    check_values(text, packed);
}
