// tests/codegen/separable_windows_test.cpp – sums over windows, one index after the other
#include "codegen/separable_windows.h"

#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature signature = {{"A", array({19, 23})},
                             {"B", array({19, 23})},
                             {"C", array({5, 19, 23})},
                             {"I", array({19, 23}, DType::i8)},
                             {"V", array({9, 10, 11})},
                             {"g", array({4})},
                             {"h", array({5})},
                             {"W", array({4, 5})},
                             {"J", array({30}, DType::i64)},
                             {"D", array({12, 16})},
                             {"H", array({19, 23}, DType::bf16)}};

std::string rewritten(const std::string& text) {
    const std::string all =
        str(codegen::with_separable_windows(bound(text, named(text, signature)), 0));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}
/// The program with windows split wherever they can be, compiled, against the reference.
void check_split(const std::string& text) {
    CAPTURE(text);
    const Signature given = named(text, signature);
    Target target = codegen::cpu::host_target();
    target.forced = Forced::rewritings;
    CHECK(compiled_difference(bound(text, given), given, target) == "");
    CHECK(compiled_difference(bound(text, given), given) == "");
}

}  // namespace

TEST_CASE("a window is summed over one index, then over the other") {
    CHECK(rewritten("Y[y,x] := sum[r,s](g[r]*h[s]*A[y+r,x+s])") ==
          "for y.5 in 0:19, x.1 in 0:19:\n"
          "  Y_window.4[y.5,x.1] := f32 sum[s.3 in 0:5](h.1[s.3]*A.2[y.5,x.1+s.3])\n"
          "for y.0 in 0:16, x.1 in 0:19:\n"
          "  Y.3[y.0,x.1] := f32 sum[r.2 in 0:4](g.0[r.2]*Y_window.4[y.0+r.2,x.1])\n");
}

TEST_CASE("windows of any reducer, of steps, borders and dimensions are split") {
    for (const char* text :
         {"Y[y,x] := max[r in 0:3,s in 0:4](A[y+r,x+s])",
          "Y[y,x] := min[r in 0:3,s in 0:4](A[2*y+r,3*x+s])",
          "Y[y,x] := prod[r in 0:3,s in 0:4](I[y+r,x+s])",
          "Y[y,x] := sum[r in 0:3,s in 0:4](A[y+r,x+s]*B[y+r,x+s])",
          "Y[y,x] := sum[r in 0:3,s in 0:4](A[y+2*r,x-s+3]) where x in 0:20",
          "Y[y,x] := sum[r in 0:5,s in 0:5](A[clamp(y+r-2),wrap(x+s-2)]) where y in 0:19, x in "
          "0:23",
          "Y[y,x] := g[r]*h[s]*A[pad(y+r-2),pad(x+s-2)] where y in 0:19, x in 0:23",
          "Y[y,x] := max[r in 0:3,s in 0:3 | y+r >= 1 && y+r < 20 && x+s >= 1 && x+s < 24]"
          "(A[y+r-1,x+s-1]) where y in 0:19, x in 0:23",
          "Y[z,y,x] := sum[q in 0:3,r in 0:3,s in 0:3](V[z+q,y+r,x+s])",
          "Y[c,y,x] := sum[r in 0:3,s in 0:4](abs(A[y+r,x+s]-C[c,y+r,x+s]))",
          "Y[o,y,x] := W[o,s]*A[y+r,x+s] where r in 0:3",
          "Y[y,x] := sum[c,r in 0:3,s in 0:4](C[c,y+r,x+s])",
          "Y[y,x] := any[r in 0:3,s in 0:3](A[y+r,x+s] > 1)",
          "Y[y,x] := sum[r in 0:3,s in 0:3](-A[y+r,x+s]*B[y,x]/(1+B[y,x]^2))",
          "Y[y,x] := sum[r in 0:3,s in 0:3](B[y,x]*(A[y+r,x+s]/(2+sin(A[y+r,x+s]))))",
          "Y[y,x] := mean[r in 0:3,s in 0:3](H[y+r,x+s])",
          "Y[i,j] := sum[k in 0:6,l in 0:2](A[i-j+9,k+l]) where i in 0:8, j in 0:8"}) {
        CHECK_MESSAGE(rewritten(text).find("_window") != std::string::npos, rewritten(text));
        check_split(text);
    }
}

TEST_CASE("gradients of windows are windows") {
    for (const char* text :
         {"Y[y,x] := sum[r,s](g[r]*h[s]*A[y+r,x+s])",
          "Y[y,x] := g[r]*h[s]*A[clamp(2*y+r-1),wrap(x+s)] where y in 0:9, x in 0:23",
          "Y[d,y,x] := sum[r in 0:3,s in 0:4](A[y+r,x+s]*B[y+r,x+s+d]) "
          "where d in 0:6, x in 0:14",
          "Y[y,x] := mean[r in 0:3,s in 0:3](A[y+r,x+s]^2)"})
        for (const char* argument : {"A", "B", "g"}) {
            const Program program = parse_program(text);
            const Signature given = named(text, signature);
            if (!given.contains(argument)) continue;
            Signature all = given;
            const BoundProgram forward = bound(text, given);
            all[std::string("dY")].shape = forward.at(forward.outputs.at(0)).shape;
            const BoundProgram gradient =
                ricci::bind(canonicalise(grad::gradient(program, argument)), all);
            CAPTURE(str(gradient));
            Target target = codegen::cpu::host_target();
            target.forced = Forced::rewritings;
            CHECK(compiled_difference(gradient, all, target) == "");
            CHECK(str(codegen::with_separable_windows(gradient, 0)).find("_window") !=
                  std::string::npos);
        }
}

TEST_CASE("factors are not read where the sum in between has no points") {
    // D is infinite where no s is left, and beside the array where no point is.
    const std::string infinite = "d[i,u] := u >= 12 ? inf : D[i,u]; ";
    check_split(infinite +
                "Y[t,u] := sum[r in 0:3,s in 0:3,k in 0:5 | t-r >= 0 && t-r < 12 && u-s-k >= 0 && "
                "u-s-k < 10](C[k,t-r,u-s-k]*d[clamp(t-r),u-k]) where t in 0:14, u in 0:16");
    check_split(
        "Y[t,u] := sum[r in 0:3,s in 0:3,k in 0:5 | t-r >= 0 && t-r < 12 && u-s-k >= 0 && "
        "u-s-k < 10](C[k,t-r,u-s-k]*D[t-r,u-k]) where t in 0:14, u in 0:16");
}

TEST_CASE("what a window has of its indices elsewhere keeps it whole") {
    for (const char* text :
         {"Y[y,x] := sum[r,s](W[r,s]*A[y+r,x+s])",
          "Y[y,x] := sum[r in 0:3,s in 0:3]((A[y+r,x+s]-D[y,x])^2)",
          "Y[y,x] := sum[r in 0:3,s in 0:3 | r+s < 4](A[y+r,x+s])",
          "Y[y,x] := sum[r in 0:3,s in 0:3](A[y+r,J[x+s]%23])",
          "Y[y,x] := sum[r in 0:3,s in 0:3](A[2*y+3*r,2*x+3*s]) where y in 0:5, x in 0:5",
          "P[y] := argmax[r in 0:3](A[y+r,2])", "y[i] := sum[k,l](A[i,k]*A[l,k])"})
        CHECK_MESSAGE(rewritten(text).find("_window") == std::string::npos, rewritten(text));
    // Small windows, and few of them, are as fast as they are written.
    const Signature image = {{"A", array({900, 900})}};
    for (const char* text :
         {"Y[y,x] := sum[r in 0:3,s in 0:3](A[y+r,x+s])",
          "Y[y,x] := sum[r in 0:15,s in 0:15](A[y+r,x+s]) where y in 0:20, x in 0:20"})
        CHECK(str(codegen::with_separable_windows(bound(text, image))).find("_window") ==
              std::string::npos);
    CHECK(str(codegen::with_separable_windows(
                  bound("Y[y,x] := sum[r in 0:15,s in 0:15](A[y+r,x+s])", image)))
              .find("_window") != std::string::npos);
}

TEST_CASE("NaN and infinities of windows are where they were") {
    const std::string numbers =
        "a[y,x] := A[y,x] > 1.5 ? inf : A[y,x] < -1.8 ? inf - inf : A[y,x]; ";
    for (const char* reducer : {"max", "min", "sum", "prod"})
        check_split(numbers + format("Y[y,x] := {}[r in 0:3,s in 0:2](a[y+r,x+s])", reducer));
}

TEST_CASE("a long window is summed in blocks, and what they leave over by itself") {
    const Signature row = {{"x", array({200})}};
    const auto blocks = [&](const std::string& extent) {
        const std::string all = str(codegen::with_separable_windows(
            bound("Y[t] := sum[k in 0:" + extent + "](x[t+k])", row), 1));
        const std::size_t begin = all.find("\nfor ") + 1;
        return all.substr(begin, all.find("outputs ") - begin);
    };
    CHECK(blocks("64") ==
          "for t.4 in 0:144:\n"
          "  Y_window.2[t.4] := f32 sum[k_block.2 in 0:8](x.0[t.4+8*k_block.2])\n"
          "for t.0 in 0:137:\n"
          "  Y.1[t.0] := f32 sum[k.3 in 0:8](Y_window.2[t.0+k.3])\n");
    CHECK_MESSAGE(blocks("67").find("in 66:67](x.0[t.0+k") != std::string::npos, blocks("67"));
    CHECK(blocks("20").find("_window") == std::string::npos);
}

TEST_CASE("long windows of every reducer, with borders, from either end, and their gradients") {
    for (const char* text :
         {"Y[t] := max[k in 0:40](x[t+k])", "Y[t] := min[k in 0:37](x[2*k+t])",
          "Y[t] := prod[k in 0:33](j[t+k])", "Y[t] := mean[k in 0:50](x[t+k])",
          "Y[t] := sum[k in (-20):21](x[clamp(t+k)]) where t in 0:200",
          "Y[t] := sum[k in (-20):21](x[wrap(t-k)]) where t in 0:200",
          "Y[t] := sum[k in 0:40](x[pad(t+k-20)]) where t in 0:200",
          "Y[t] := sum[k in 0:40 | t+k >= 20 && t+k < 220](x[t+k-20]) where t in 0:200",
          "Y[t] := sum[k | k <= t && k > t-40](x[k]) where t in 0:200",
          "Y[t] := max[k | k >= t-35 && k <= t+35](x[k]) where t in 0:200",
          "Y[t] := sum[k | k <= t && k > t-40](x[k]*w[t]) where t in 0:200",
          "Y[t] := -sum[k in 0:40](x[t+k]*w[t])", "Y[t] := any[k in 0:40](x[t+k] > 2)",
          "Y[t] := sum[k in 0:40](x[t+k]*x[t+k])", "Y[i,t] := sum[k in 0:40](X[i,t+k])",
          "Y[t,i] := max[k in 0:45](X[i,t+k])*x[0]", "Y[t] := sum[k in 0:40](abs(x[t+k]-x[t]))",
          "Y[t] := sum[k in 0:40](x[t+k]*v[k])",
          "y[t] := 0*x[t]; y[t+7] += sum[k in 0:40](x[t+k]) where t in 0:100"}) {
        CAPTURE(std::string(text));
        const Signature given = named(text, {{"x", array({200})},
                                             {"w", array({200})},
                                             {"v", array({40})},
                                             {"j", array({200}, DType::i16)},
                                             {"X", array({3, 120})}});
        Target target = codegen::cpu::host_target();
        target.forced = Forced::rewritings;
        CHECK(compiled_difference(bound(text, given), given, target) == "");
    }
    CHECK(str(codegen::with_separable_windows(
                  bound("Y[t] := sum[k in 0:64](x[t+k])", {{"x", array({50'000'000})}})))
              .find("_window") != std::string::npos);
    const Signature row = {{"x", array({3000})}};
    CHECK(str(codegen::with_separable_windows(
                  bound("Y[t] := sum[k | k <= t && k > t-400](x[k]) where t in 0:3000", row)))
              .find("_window") != std::string::npos);
}
