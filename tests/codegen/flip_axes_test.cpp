// tests/codegen/flip_axes_test.cpp – axes that are walked backwards, run from their end
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether some step takes lanes from squares that are transposed. Checks values.
bool has_squares(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    check_values(text, signature);
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    return plan.find("  transpose ") != std::string::npos;
}

}  // namespace

TEST_CASE("arrays that are turned by a quarter are transposed in squares") {
    const Signature signature = {{"A", array({70, 90})}};
    CHECK(has_squares("Y[i,j] := A[j,89-i] where i in 0:90", signature));
    CHECK(has_squares("Y[i,j] := A[69-j,i] where j in 0:70", signature));
    CHECK(has_squares("Y[i,j] := A[69-j,89-i] where i in 0:90, j in 0:70", signature));
    CHECK(has_squares("Y[i,j] := A[j,89-i] + B[i,j]",
                      {{"A", array({70, 90})}, {"B", array({90, 70})}}));
}

TEST_CASE("what is walked in both directions, collides or is a place keeps its order") {
    check_values("y[i] := x[99-i] + x[i] where i in 0:100", {{"x", array({100})}});
    check_values("y[i] := x[99-i] where i in 0:100", {{"x", array({100})}});
    check_values("s := x[99-i]*w[i] where i in 0:100", {{"x", array({100})}, {"w", array({100})}});
    check_values("s := sum[i in 0:100](x[99-i])", {{"x", array({100})}});
    check_values("p := argmax[i in 0:100](x[99-i])", {{"x", array({100}, DType::i8)}});
    check_values("p[j] := argmin[i in 0:50](x[j,49-i])", {{"x", array({7, 50}, DType::i8)}});
    check_values("y[20-i] += x[i]", {{"y", array({30})}, {"x", array({20})}});
    check_values("y[(20-i)//2] += x[i]", {{"y", array({30})}, {"x", array({20})}});
    check_values("Y[t] := sum[k | t-k >= 0 && t-k < 30](x[t-k]*w[k]) where t in 0:50",
                 {{"x", array({30})}, {"w", array({21})}});
}

TEST_CASE("sums run backwards through memory only beside nothing else") {
    const auto plan_of = [](const std::string& text, const Signature& signature) {
        return str(codegen::plan(bound(text, signature), example_target(64)));
    };
    CHECK(plan_of("s := sum[i in 0:100](x[99-i])", {{"x", array({100})}}).find("- l + 99]") ==
          std::string::npos);
    // Windows are packed and read in the order of their points.
    CHECK(plan_of("Y[t] := sum[m in 0:9 | t-m >= 0 && t-m < 30](x[t-m]*w[2*m]) where t in 0:38",
                  {{"x", array({30})}, {"w", array({20})}})
              .find("x[-m") != std::string::npos);
}

}  // namespace ricci::tests
