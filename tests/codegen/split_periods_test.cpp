// tests/codegen/split_periods_test.cpp – axes whose index arithmetic repeats, as two axes
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

std::string plan_text(const std::string& text, const Signature& signature) {
    return str(codegen::plan(bound(text, signature), example_target(64)));
}

bool has_quotients(const std::string& plan) {
    return plan.find("mod(") != std::string::npos || plan.find("//") != std::string::npos;
}

/// Checks values, and that places are affine at all points.
void check_affine(const std::string& text, const Signature& signature) {
    const std::string plan = plan_text(text, signature);
    CHECK_MESSAGE(!has_quotients(plan), text, "\n", plan);
    check_values(text, signature);
}

}  // namespace

TEST_CASE("places in turns of an axis are affine in two axes") {
    check_affine("Y[b,t,c] := X[b,c//8,t,c%8] where c in 0:48", {{"X", array({2, 6, 5, 8})}});
    check_affine("Y[n,c,y,x] := X[n,c,y//2,x//2] where y in 0:10, x in 0:12",
                 {{"X", array({2, 3, 5, 6})}});
    check_affine(
        "Y[n,c,y,x] := X[n,4*c+2*(y%2)+x%2,y//2,x//2] where y in 0:10, x in 0:12, c in 0:3",
        {{"X", array({2, 12, 5, 6})}});
    check_affine("Y[i] := X[i%64] where i in 0:640", {{"X", array({64})}});
    check_affine("Y[i] := X[(i%8)*8+i//8] where i in 0:64", {{"X", array({64})}});
    check_affine("Y[i] := X[(2*i)%8] + X[i//12] where i in 0:48", {{"X", array({8})}});
    check_affine("Y[i] := X[i%4] * X[(i//4)%3] where i in 0:48", {{"X", array({4})}});
}

TEST_CASE("turns begin where the remainder is least, what is left over is apart") {
    check_affine("Y[i] := X[(i+5)%16,(i+5)//16] where i in 0:160", {{"X", array({16, 11})}});
    check_affine("Y[i,j] := X[i%24,j] where i in 0:100", {{"X", array({24, 9})}});
    check_affine("Y[i+_] := X[i%10,i//10] where i in 3:52", {{"X", array({10, 6})}});
}

TEST_CASE("reduced axes of whole turns are split, others are not") {
    check_affine("Y[n,o] := W[o,c]*X[n,c//8,c%8]",
                 {{"W", array({20, 48})}, {"X", array({12, 6, 8})}});
    check_affine("Y[n] := max[c in 0:48](X[n,c//8,c%8])", {{"X", array({12, 6, 8})}});
    const std::string rest = "Y[n] := sum[c in 0:44](X[n,c%8,c//8])";
    CHECK(has_quotients(plan_text(rest, {{"X", array({12, 8, 6})}})));
    check_values(rest, {{"X", array({12, 8, 6})}});
}

TEST_CASE("an argmax over several axes by one index") {
    check_affine("Y[n] := argmax[c in 0:48](X[n,c//8,c%8])", {{"X", array({12, 6, 8})}});
    check_affine("Y[n] := argmax[c in 0:40](X[n,c//8,c%8])", {{"X", array({12, 6, 8})}});
    check_affine("Y[n] := argmin[c in 0:48](X[n,c%8,c//8])", {{"X", array({12, 8, 6})}});
    check_affine("Y[n] := argmax[c in 0:48](X[c//8,c%8,n])", {{"X", array({6, 8, 12})}});
    check_affine("Y[y,x] := argmax[p in 0:9](X[2*y+p//3,2*x+p%3]) where y in 0:4, x in 0:20",
                 {{"X", array({9, 41})}});
    check_affine("Y[n] := argmax[p in 0:24](X[n,p//12,p//4%3,p%4])", {{"X", array({7, 2, 3, 4})}});
}

TEST_CASE("points between those of neighbouring lanes are written in one pass") {
    check_values("Y[y,c,r] := X[clamp(J[r]),c] where y in 0:8",
                 {{"X", array({10, 16})}, {"J", array({3}, DType::i8)}});
    check_values("Y[y,c,r] := X[wrap(y+r),c] where y in 0:8, r in 0:3", {{"X", array({8, 16})}});
    check_values("Y[y,c,r] := X[(y+r)%5,c] where y in 0:8, r in 0:4, c in 0:64",
                 {{"X", array({10, 64})}});
    check_values("Y[2*i+r] += v[r] > 0 ? X[i,r] : 0 where r in 0:2",
                 {{"Y", array({80})}, {"X", array({40, 2})}, {"v", array({2})}});
}

TEST_CASE("a quotient and its remainder that are one number in sum are that number") {
    check_affine("Y[i] := X[8*(i//8)+i%8+1] where i in 0:44", {{"X", array({48})}});
    check_affine("Y[i] := X[24*(i//8//2)+12*(i//8%2)+i%8] where i in 0:32", {{"X", array({64})}});
}

TEST_CASE("places in one of two turns are a choice, no division") {
    check_affine("Y[i,j] := X[i,wrap(j+i)] where i in 0:20, j in 0:20", {{"X", array({20, 20})}});
    check_affine("Y[i,j] := X[(i-j)%16,(i-j)//16+1] where i in 0:16, j in 0:16",
                 {{"X", array({16, 2})}});
    check_affine("Y[i] := c[wrap(i-j)]*x[j] where i in 0:30",
                 {{"c", array({30})}, {"x", array({30})}});
}

TEST_CASE("many axes are not cut into pieces, but for what leaves nothing over") {
    const auto kernels = [](const std::string& place) {
        std::string at;
        std::string indices;
        std::string ranges;
        for (const char index : std::string("abcdefgh")) {
            const std::string comma = at.empty() ? "" : ",";
            at += comma + "(" + index + place + ")%2";
            indices += comma + index;
            ranges += comma + " " + index + " in 0:6";
        }
        const std::string text = "Y[" + indices + "] := X[" + at + "] where" + ranges;
        return codegen::plan(bound(text, {{"X", array(Shape(8, 2))}}), example_target(64))
            .nests.size();
    };
    CHECK(kernels("+1") < 30);
    CHECK(kernels("") == 1);
}

TEST_CASE("sums of several indices and quotients of data stay") {
    check_values("Y[i,j] := X[(i+3*j)%8] where i in 0:40, j in 0:7", {{"X", array({8})}});
    check_values("Y[i] := X[J[i]%8] where i in 0:40",
                 {{"X", array({8})}, {"J", array({40}, DType::i64)}});
    check_values("Y[i] := X[i%3] + X[i%7] + X[i%11] where i in 0:231", {{"X", array({11})}});
    check_values("Y[i%8] += X[i] where i in 0:64", {{"X", array({64})}, {"Y", array({8})}});
}
