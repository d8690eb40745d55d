// tests/codegen/place_blocks_test.cpp – places of extremes in large windows, and where these send
// gradients
#include "codegen/place_blocks.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "codegen/placed_windows.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

const Signature signature = {
    {"w", array({150})},      {"X", array({3, 90})},           {"A", array({19, 23})},
    {"V", array({8, 9, 10})}, {"J", array({150}, DType::i16)}, {"P", array({120}, DType::i64)},
    {"dY", array({120})}};

std::string equations(const BoundProgram& program) {
    const std::string all = str(program);
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}
std::string in_blocks(const std::string& text) {
    return equations(codegen::with_place_blocks(bound(text, named(text, signature)), 0));
}
std::string placed(const std::string& text) {
    return equations(codegen::with_placed_windows(bound(text, named(text, signature)), 8));
}
void check_forced(const BoundProgram& program, const Signature& given) {
    Target target = codegen::cpu::host_target();
    target.forced = Forced::rewritings;
    CHECK(compiled_difference(program, given, target) == "");
}
void check_forced(const std::string& text) {
    CAPTURE(text);
    const Signature given = named(text, signature);
    check_forced(bound(text, given), given);
}

}  // namespace

TEST_CASE("the place of an extreme is that of its block and one in the block") {
    const std::string blocks = equations(codegen::with_place_blocks(
        bound("p[t] := argmax[k in 0:80](w[t+k])", {{"w", array({150})}}), 1));
    CHECK(blocks ==
          "for t.4 in 0:143:\n"
          "  p_best.2[t.4] := f32 max[k.3 in 0:8](w.0[t.4+k.3])\n"
          "for t.4 in 0:143:\n"
          "  p_first.3[t.4] := f32 argmax[k.3 in 0:8](w.0[t.4+k.3])\n"
          "for t.0 in 0:71:\n"
          "  p_block.4[t.0] := f32 argmax[k_block.2 in 0:10](p_best.2[t.0+8*k_block.2])\n"
          "for t.0 in 0:71:\n"
          "  p.1[t.0] := 8*min(p_block.4[t.0], 9)+p_first.3[t.0+8*min(p_block.4[t.0], 9)]\n");
    const std::string rows =
        in_blocks("p[y,x] := argmax[k in 0:12](A[y+k//4,x+k%4]) where y in 0:17, x in 0:20");
    CHECK_MESSAGE(rows.find("in 0:4](A.0[") != std::string::npos, rows);
}

TEST_CASE("blocks give the first best place: ties, infinities, NaN, what they leave over") {
    const std::string numbers =
        "a[t] := w[t] > 0.6 ? 1 : w[t] < -0.8 ? -inf : w[t]; b[t] := w[t] > 1.5 ? inf-inf : a[t]; "
        "c[t] := 0*w[t] - inf; m[y,x] := A[y,x] > 1.5 ? inf - inf : A[y,x] < 0 ? -inf : 1; ";
    for (const std::string array : {"w", "a", "b", "c", "J"})
        for (const char* text :
             {"p[t] := argmax[k in 0:36](%[t+k])", "p[t] := argmin[k in 0:37](%[t+k])",
              "p[t] := argmax[k in (-5):32](%[40-k+t]) where t in 0:100",
              "p[t] := argmin[k in 0:40](%[2*t+k])"}) {
            std::string with = text;
            with.replace(with.find('%'), 1, array);
            check_forced(
                array == "w" || array == "J" ? with : numbers.substr(0, numbers.find("m[")) + with);
        }
    for (const char* text :
         {"p[y,x] := argmax[k in 0:12](m[y+k//4,x+k%4]) where y in 0:17, x in 0:20",
          "p[y,x] := argmin[k in 0:12](-m[y+k//4,x+k%4]) where y in 0:17, x in 0:20",
          "p[y,x] := argmax[k in 0:9](m[pad(y+k//3-1,1,value=-inf),pad(x+k%3-1,1,value=-inf)]) "
          "where y in 0:19, x in 0:23",
          "p[y,x] := argmax[k in 0:9](m[clamp(y+k//3-1),wrap(x+k%3-1)]) where y in 0:19, x in 0:23",
          "p[y,x] := argmax[k in 0:9 | y+k//3 >= 1 && y+k//3 < 20 && x+k%3 >= 1 && x+k%3 < 24]"
          "(m[y+k//3-1,x+k%3-1]) where y in 0:19, x in 0:23"})
        check_forced(numbers.substr(numbers.find("m[")) + text);
    check_forced(
        "p[z,y,x] := argmax[k in 0:18](V[z+k//3//3,y+k//3%3,x+k%3]) "
        "where z in 0:6, y in 0:7, x in 0:8");
}

TEST_CASE("windows that conditions leave empty have no place") {
    for (const char* at : {"90000", "30"}) {
        std::string rows = " | y+k//4 >= %1 && y+k//4 < %2";
        rows.replace(rows.find("%1"), 2, at);
        rows.replace(rows.find("%2"), 2, std::to_string(std::stoi(at) + 19));
        const std::string condition = "[k in 0:12" + rows + "]";
        check_forced("p[y,x] := any" + condition + "(true) ? argmax" + condition + "(A[y+k//4-" +
                     at + ",x+k%4]) : -7 where y in 0:90019, x in 0:20");
    }
    const std::string columns = "[k in 0:12 | x+k%4 >= 9 && x+k%4 < 32]";
    check_forced("p[y,x] := any" + columns + "(true) ? argmax" + columns +
                 "(A[y+k//4,x+k%4-9]) : -7 where y in 0:17, x in 0:40");
    check_forced(
        "Y[y,x] := max[r in 0:3,s in 0:4 | x+s >= 9 && x+s < 32](A[y+r,x+s-9]) "
        "where y in 0:17, x in 0:40");
}

TEST_CASE("places that windows do not share stay as they are") {
    for (const char* text :
         {"p[t] := argmax[k in 0:12](w[12*t+k])", "p[i] := argmax[k](X[i,k])",
          "p[t] := argmax[k in 0:12](w[t+k]*k)", "p[t] := argmax[k in 0:12](w[t+k]*w[t])",
          "p[t] := argmax[k | k <= t](w[k]) where t in 0:150"})
        CHECK_MESSAGE(in_blocks(text).find("_first") == std::string::npos, in_blocks(text));
}

TEST_CASE("windows say where they go") {
    CHECK(placed("d[u] := sum[k in 0:31 | u-k >= 0 && u-k < 120](k == P[u-k] ? dY[u-k] : 0) "
                 "where u in 0:150") ==
          "for u.0 in 0:150:\n"
          "  d.2[u.0] := f32 sum[u.2 in 0:120 | u.0 == u.2+P.0[u.2] && (P.0[u.2] >= 0 "
          "&& P.0[u.2] < 31)](dY.1[u.2])\n");
    // Any numbers.
    for (const char* text :
         {"d[u] := sum[k in 0:31 | u-k >= 0 && u-k < 120](k == P[u-k] ? dY[u-k] : 0) where u in "
          "0:150",
          "d[u] := sum[k in (-3):31 | u+k >= 0 && u+k < 120](k+2 == P[u+k] ? dY[u+k] : 0) "
          "where u in 0:123",
          "d[u,v] := sum[r in 0:5,s in 0:7 | u-r >= 0 && u-r < 15 && v-s >= 0 && v-s < 17]"
          "(7*r+s == i64(20*A[u-r,v-s]) ? A[u-r,v-s] : 0) where u in 0:19, v in 0:23",
          "d[u] := sum[k in 0:31 | u-k >= 0 && u-k < 120 && k == P[u-k]](dY[u-k]*dY[u-k]) "
          "where u in 0:150"})
        check_forced(text);
    for (const char* text : {"d[u] := sum[k in 0:31 | u-k >= 0 && u-k < 120](k == P[u-k] ? "
                             "dY[u-k]*k : 0) where u in 0:150",
                             "d[u] := sum[k in 0:5 | u-k >= 0 && u-k < 120](k == P[u-k] ? dY[u-k] "
                             ": 0) where u in 0:150",
                             "d[u] := sum[k in 0:31](k == P[u] ? dY[k] : 0) where u in 0:120"})
        CHECK_MESSAGE(placed(text).find("== u.") == std::string::npos, placed(text));
}

TEST_CASE("gradients of extremes over large windows, with ties") {
    for (const char* text :
         {"Y[t] := max[k in 0:40](w[t+k])", "Y[t] := min[k in 0:37](w[t-k+40]) where t in 0:100",
          "Y[y,x] := max[r in 0:5,s in 0:6](A[y+r,x+s])",
          "Y[y,x] := max[r in 0:5,s in 0:5](A[clamp(y+r-2),wrap(x+s-2)]) "
          "where y in 0:19, x in 0:23",
          "Y[z,y,x] := min[q in 0:3,r in 0:3,s in 0:4](V[z+q,y+r,x+s])",
          "Y[i,t] := max[k in 0:33](X[i,t+k])"}) {
        CAPTURE(std::string(text));
        Signature given = named(text, signature);
        const std::string argument = given.begin()->first;
        const BoundProgram forward = bound(text, given);
        Signature all = given;
        all["dY"] = array(forward.at(forward.outputs.at(0)).shape);
        check_forced(ricci::bind(canonicalise(grad::gradient(parse_program(text), argument)), all),
                     all);
    }
}
