// tests/codegen/case_axes_test.cpp – short axes of which terms tell the places apart
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Two numbers of four bits in each byte, scaled by groups of 32.
const Signature packed = {{"W", array({20, 64}, DType::u8)},
                          {"s", array({20, 4})},
                          {"x", array({128})},
                          {"X", array({12, 128})},
                          {"A", array({40, 64})}};
std::string plan_of(const std::string& text) {
    return str(codegen::plan(bound(text, named(text, packed)), example_target(64)));
}

const std::string number = "(s[o,k//32]*(f32((W[o,k//2]//(k%2 == 0 ? 1 : 16))%16)-8)*";

}  // namespace

TEST_CASE("places of a sum that its terms tell apart are terms of one sum") {
    const std::string text = "y[o] := sum[k]" + number + "x[k])";
    CHECK(plan_of(text).find("select(") == std::string::npos);
    for (const std::string reducer : {"sum", "prod", "max", "min"}) {
        const std::string each = "y[o] := " + reducer + "[k]" + number + "x[k])";
        check_values(each, named(each, packed));
    }
    for (const char* each :
         {"y[i] := sum[j,e](A[i,j]*(e == 0 ? 2 : exp(A[i,j]))*x[2*j+e]) where e in 0:2",
          "y[i] := max[j,e](e == 2 ? A[i,j] : x[j+e]) where e in 0:3",
          "y[i] := min[j,e](A[i,j]*(x[e%3] + x[j+64])) where e in 0:4"})
        check_values(each, named(each, packed));
}

TEST_CASE("places that are compared are told apart, too") {
    const std::string text = "Y[t,i] := t >= 1 ? exp(A[t,i]) : A[3,i] where t in 0:2";
    CHECK(plan_of(text).find("select(") == std::string::npos);
    check_values(text, named(text, packed));
}

TEST_CASE("places that conditions choose, and those of extremes' places, stay an axis") {
    for (const char* text : {"y[i] := sum[j,e | e <= i](e == 0 ? A[i,j] : x[j+e]) where e in 0:3",
                             "y[i] := argmax[e](e == 1 ? A[i,3] : x[i+e]) where e in 0:4",
                             "y[i] := argmin[e](e == 1 ? A[i,3] : A[i,e]) where e in 0:64"})
        check_values(text, named(text, packed));
}

TEST_CASE("columns of a product whose terms tell places apart divide by constants") {
    const std::string text = "Y[n,o] := sum[k]" + number + "X[n,k])";
    const std::string plan = plan_of(text);
    CHECK_MESSAGE(plan.find("floordiv(select") == std::string::npos, plan);
    check_values(text, named(text, packed));
}
