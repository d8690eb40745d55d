// tests/codegen/narrow_axes_test.cpp – sums over windows, counted from their first point
#include "codegen/narrow_axes.h"

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

std::string plan_text(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    for (const int vector_bytes : {16, 64})
        CHECK(interpreted_difference(program, signature, example_target(vector_bytes), 1) == "");
    CHECK(compiled_difference(program, signature) == "");
    return str(codegen::plan(program, example_target(64)));
}

}  // namespace

TEST_CASE("the gradient of a magnified image sums each square from its first point") {
    const std::string text = plan_text(
        "dX[n,t,u] := sum[y,x | y >= 2*t && y < 2*t+2 && x >= 3*u && x < 3*u+3](dY[n,y,x]) where t "
        "in 0:9, u in 0:20",
        {{"dY", array({4, 18, 60})}});
    CHECK(text.find("for y in 0..2") != std::string::npos);
    CHECK(text.find("for x in 0..3") != std::string::npos);
}

TEST_CASE("windows that leave the axis, or move with another sum, keep their conditions") {
    const std::string cut = plan_text("s[t] := sum[y | y >= 2*t && y < 2*t+2](x[y]) where t in 0:9",
                                      {{"x", array({17})}});
    CHECK(cut.find("in 0..2") == std::string::npos);
    const std::string pairs =
        plan_text("s[t] := sum[i in 0:20, j | j >= i+t && j < i+t+2](x[j]*y[i]) where t in 0:9",
                  {{"x", array({60})}, {"y", array({20})}});
    CHECK(pairs.find("for j in 0..2") == std::string::npos);
}

TEST_CASE("the place of a largest element of a window is that of the whole axis") {
    const std::string window = " where t in 0:20";
    (void)plan_text("p[t] := argmax[y | y >= 3*t && y < 3*t+3](x[y])" + window,
                    {{"x", array({60})}});
    // Windows side by side fill the axis: batch and windows are no one axis for all that.
    for (const char* reducer : {"argmax", "argmin"})
        (void)plan_text(
            "p[b,t] := " + std::string(reducer) + "[y | y >= 3*t && y < 3*t+3](x[b,y])" + window,
            {{"x", array({5, 60})}});
    (void)plan_text("s[b,t] := max[y | y >= 3*t && y < 3*t+3](x[b,y])" + window,
                    {{"x", array({5, 60})}});
}

}  // namespace ricci::tests
