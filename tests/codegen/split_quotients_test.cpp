// tests/codegen/split_quotients_test.cpp – indices that are divided, as quotient and rest
#include "codegen/split_quotients.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

std::string split(const std::string& text, const Signature& signature) {
    const std::string all = str(codegen::with_split_quotients(bound(text, signature)));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}
bool stays(const std::string& text, const Signature& signature) {
    const BoundProgram program = bound(text, signature);
    return str(codegen::with_split_quotients(program)) == str(program);
}

}  // namespace

TEST_CASE("an index that is divided is two: the quotient and the rest") {
    CHECK(split("Y[o,t] := X[16*(o//16)+c,t+k]*W[o,c,k]",
                {{"X", array({64, 100})}, {"W", array({64, 16, 3})}}) ==
          "for o.4 in 0:4, o.5 in 0:16, t.1 in 0:98:\n"
          "  Y.2[16*o.4+o.5,t.1] := f32 sum[c.2 in 0:16, k.3 in 0:3]"
          "(X.0[16*o.4+c.2,t.1+k.3]*W.1[16*o.4+o.5,c.2,k.3])\n");
    CHECK(split("s[o] := X[o//4,k]*V[o%4,k]", {{"X", array({3, 9})}, {"V", array({4, 9})}}) ==
          "for o.2 in 0:3, o.3 in 0:4:\n"
          "  s.2[4*o.2+o.3] := f32 sum[k.1 in 0:9](X.0[o.2,k.1]*V.1[o.3,k.1])\n");
    // Of a reduced index, and with a constant that stays below a step.
    CHECK(split("s[i] := sum[p in 0:6](X[i,p//3]*V[(2*p+1)%6])",
                {{"X", array({5, 2})}, {"V", array({6})}}) ==
          "for i.0 in 0:5:\n"
          "  s.2[i.0] := f32 sum[p.2 in 0:2, p.3 in 0:3](X.0[i.0,p.2]*V.1[2*p.3+1])\n");
}

TEST_CASE("an index stays whose extent or other quotients are none of turns") {
    const Signature signature = {{"X", array({20, 9})}, {"V", array({20, 9})}};
    CHECK(stays("s[o] := X[o//4,k]*V[0,k] where o in 0:13", signature));
    CHECK(stays("s[o] := X[o//4,k]*V[o//3,k] where o in 0:12", signature));
    CHECK(stays("s[o] := X[(o+2)//4,k]*V[o,k] where o in 0:12", signature));
    CHECK(stays("s[o] := X[o//4,k]*V[o,k] where o in 0:4", signature));
    CHECK(stays("s[o] := X[(o+k)//2,k]*V[o,k] where o in 0:12", signature));
    CHECK(stays("s[o] := argmax[p in 0:12](X[p//4,o])", {{"X", array({3, 9})}}));
    CHECK(stays("Y[o,k] := X[o//4,k]*V[o,k]", signature));  // no reduction
}

TEST_CASE("only what a target does not name is cleared") {
    const auto is_cleared = [](const std::string& text) {
        const BoundProgram program = codegen::with_split_quotients(
            bound(text + " := sum[c in 0:4](X[4*(i//4)+c]) where i in 0:8", {{"X", array({8})}}));
        return !program.at(program.equations[0].target).is_partial;
    };
    CHECK(is_cleared("D[i,i]"));
    CHECK_FALSE(is_cleared("D[i]"));
}

TEST_CASE("values stay what they were") {
    check_values("Y[n,o,t] := X[n,4*(o//4)+c,t+k]*W[o,c,k]",
                 {{"X", array({2, 8, 20})}, {"W", array({8, 4, 3})}});
    check_values("Y[o,y,x] := X[2*(o//4)+c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]",
                 {{"X", array({4, 7, 9})}, {"W", array({8, 2, 3, 3})}});
    check_values("S[h,i,j] := Q[h,i,d]*K[h//3,j,d]",
                 {{"Q", array({6, 5, 4})}, {"K", array({2, 7, 4})}});
    check_values("s[o] := sum[k | k < o//4 + o%4](X[o//4,k]*V[o%4,k])",
                 {{"X", array({3, 9})}, {"V", array({4, 9})}});
    check_values("s[i] := max[p in 0:6](X[i,p//3]*V[(2*p+1)%6])",
                 {{"X", array({5, 2})}, {"V", array({6})}});
    check_values("s[o] := X[o//4//2,k]*V[o,k] where o in 0:16",
                 {{"X", array({2, 9})}, {"V", array({16, 9})}});
    // Elements that the target does not name.
    check_values("D[i,i] := sum[c in 0:4](X[4*(i//4)+c]) where i in 0:8", {{"X", array({8})}});
    check_values("s[o] += X[o//4,k]*V[o,k]",
                 {{"s", array({12})}, {"X", array({3, 9})}, {"V", array({12, 9})}});
}

}  // namespace ricci::tests
