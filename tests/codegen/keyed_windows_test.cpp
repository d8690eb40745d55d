// tests/codegen/keyed_windows_test.cpp – windows whose places are data, as keys of their points
#include "codegen/keyed_windows.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature signature = {{"X", array({60})},
                             {"Z", array({40, 50})},
                             {"J", array({9}, DType::i64)},
                             {"K", array({9}, DType::i32)},
                             {"u", array({9})},
                             {"dY", array({9, 4})}};

std::string rewritten(const std::string& condition) {
    const std::string text = "y[t] := sum[n | " + condition + "](u[n]) where t in 0:60";
    BoundProgram program = bound(text, named(text, signature));
    codegen::EquationMaker make(program);
    program.equations.back() = codegen::with_windows_as_keys(make, program.equations.back(),
                                                             program.equations.back().indices);
    const std::string all = str(program);
    const std::size_t begin = all.rfind(" | ") + 3;
    return all.substr(begin, all.rfind("](") - begin);
}

/// Checks the gradient by X or Z, which looks at no point more than once.
void check_gradient(const std::string& forward, const std::string& by, const Shape& shape_of_dY) {
    const Program program = grad::gradient(parse_program(forward), by);
    Signature given = named(forward, signature);
    given["dY"] = array(shape_of_dY);
    const BoundProgram gradient = ricci::bind(canonicalise(program), given);
    CAPTURE(forward);
    CHECK(gradient.checks.empty());
    const std::string plan = str(codegen::plan(gradient, example_target(64)));
    CHECK_MESSAGE(plan.find("acc[") == std::string::npos, plan);
    for (const int vector_bytes : {64, 32})
        CHECK(interpreted_difference(gradient, given, example_target(vector_bytes)) == "");
    CHECK(compiled_difference(gradient, given) == "");
}

}  // namespace

TEST_CASE("conditions that a result lies in a window are an equation with a place in it") {
    CHECK(rewritten("t-J[n] >= 0 && t-J[n] < 4") == "t.0 == J.0[n.1]+w.2");
    CHECK(rewritten("t-J[n]+3 > 0 && 5 >= t-J[n]+3") == "t.0 == -2+J.0[n.1]+w.2");
    CHECK(rewritten("2*n+J[n]-t >= 1 && 2*n+J[n]-t < 9 && n > 2") ==
          "t.0 == -8+2*n.1+J.0[n.1]+w.2 && n.1 > 2");
}

TEST_CASE("conditions that a result lies in one of many steps are an equation with its number") {
    CHECK(rewritten("J[n] >= 4*t && J[n] < 4*t+4") == "t.0 == J.0[n.1]//4");
    CHECK(rewritten("J[n]+n+1 >= 4*t && J[n]+n+1 < 4*t+4") == "t.0 == (1+J.0[n.1]+n.1)//4");
    // Of shorter windows some numbers have none.
    CHECK(rewritten("J[n] >= 4*t && J[n] < 4*t+3") ==
          "t.0 == J.0[n.1]//4 && J.0[n.1] >= 4*t.0 && J.0[n.1] < 4*t.0+3");
    CHECK(rewritten("J[n] >= 4*t && J[n] < 4*t+5") == "J.0[n.1] >= 4*t.0 && J.0[n.1] < 4*t.0+5");
}

TEST_CASE("conditions of wide windows, of two places or on one side alone stay") {
    for (const char* condition :
         {"t-J[n] >= 0 && t-J[n] < 31", "t-J[n] >= 0 && t-i64(K[n]) < 4", "t-J[n] >= 0",
          "t-2*J[n] >= 0 && t-J[n] < 4", "t >= J[n]+3 && t-J[n] < 10",
          "t-J[n]-5 >= -5 && t-J[n] < 4", "J[n]-t <= 0 && t-J[n] < 4",
          "t-J[n] >= i64(K[n]) && t-J[n] < i64(K[n])+4", "2*t-J[n] >= 0 && 2*t-J[n] < 4",
          "t-n >= 0 && t-n < 4"})
        CHECK_MESSAGE(rewritten(condition).find("w.") == std::string::npos, condition);
}

TEST_CASE("points of a sum that lie in windows at places that are data are looked at there") {
    const Signature rows = {
        {"p", array({20}, DType::i64)}, {"q", array({20}, DType::i64)}, {"v", array({90})}};
    const auto is_in_place = [&](const std::string& text) {
        const Signature given = named(text, rows);
        check_values(text, given);
        const std::string plan = str(codegen::plan(bound(text, given), example_target(64)));
        return plan.find("for t") == std::string::npos;
    };
    CHECK(is_in_place("y[i] := sum[t in 0:90 | t-p[i] >= 0 && t-p[i] < 5 && t-p[i] < q[i]](v[t])"));
    CHECK(is_in_place("y := max[i,t in 0:90 | t-p[i] > -3 && t-p[i] < 4](v[t] + t)"));
    CHECK(is_in_place("y := min[i,t in 0:90 | p[i]-t >= 0 && p[i]-t < 4](v[t]*p[i])"));
    // What the point decides is not read where it may not exist.
    CHECK_FALSE(
        is_in_place("y[i] := sum[t in 0:90 | t-p[i] >= 0 && t-p[i] < 5 && v[t] > 0](v[t])"));
}

TEST_CASE("what is read beside a window is read at the place, not at its distance") {
    const std::string gradient = str(grad::gradient(
        parse_program("Y[i] := sum[k in 0:10 | k < n[i]](v[p[i]+k]*x[c[p[i]+k]])"), "v"));
    CHECK_MESSAGE(gradient.find("x[c[t]]") != std::string::npos, gradient);
    // A conversion that changes numbers is another place.
    const std::string other = str(
        grad::gradient(parse_program("Y[i] := sum[k in 0:4](v[i8(p[i])+k]*x[c[p[i]+k]])"), "v"));
    CHECK_MESSAGE(other.find("x[c[t]]") == std::string::npos, other);
}

TEST_CASE("gradients of windows at places that are data update the points of each window") {
    check_gradient("Y[n,a] := X[J[n]+a] where a in 0:4", "X", {9, 4});
    check_gradient("Y[n,a] := X[K[n]+a] where a in 0:4", "X", {9, 4});
    check_gradient("Y[n,a] := X[J[n]-a+3] where a in 0:4", "X", {9, 4});
    check_gradient("Y[n,a] := X[pad(J[n]+a-3)] where a in 0:4", "X", {9, 4});
    check_gradient("Y[n] := X[J[n]//4]", "X", {9});
    check_gradient("Y[n,a] := X[(J[n]+a)//3] where a in 0:4", "X", {9, 4});
    check_gradient("Y[n,a] := X[J[n]//4+a] where a in 0:4", "X", {9, 4});
    check_gradient("Y[n] := Z[J[n]//4,K[n]//8]", "Z", {9});
    check_gradient("Y[n,b,a] := X[J[n]+4*b+a] where a in 0:4, b in 0:3", "X", {9, 3, 4});
    check_gradient("Y[n,a,b] := Z[J[n]+a,K[n]+b] where a in 0:3, b in 0:5", "Z", {9, 3, 5});
    check_gradient(
        "Y[n] := sum[a in 0:2,b in 0:2](Z[J[n]+a,K[n]+b]*(a == 0 ? 1-u[n] : u[n])*(b+1))", "Z",
        {9});
    check_gradient("Y[n,a,c] := Z[J[n]+a,c]*X[a] where a in 0:3", "Z", {9, 3, 50});
}
