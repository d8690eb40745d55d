// tests/codegen/single_places_test.cpp – sums that one place of an axis has alone
#include "codegen/single_places.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

std::string rewritten(const std::string& text, const Signature& signature) {
    const std::string all = str(codegen::with_single_places(bound(text, signature)));
    const std::size_t begin = all.find("\nfor ") + 1;
    return all.substr(begin, all.find("outputs ") - begin);
}

}  // namespace

TEST_CASE("a sum for one place of an axis is a sum without the axis") {
    CHECK(rewritten("Y[i,t] := sum[j | t == 2](A[i,j]) where t in 0:4", {{"A", array({5, 6})}}) ==
          "for i.0 in 0:5:\n"
          "  Y_place.2[i.0] := f32 sum[j.2 in 0:6](A.0[i.0,j.2])\n"
          "for i.0 in 0:5, t.1 in 0:4:\n"
          "  Y.1[i.0,t.1] := t.1 == 2 ? Y_place.2[i.0] : 0.0\n");
    CHECK(rewritten("Y[t,u] := sum[j | 1 == u && t == 0 && j > t](A[j,u]) where t in 0:4, u in 0:2",
                    {{"A", array({5, 6})}}) ==
          "for :\n"
          "  Y_place.2[] := f32 sum[j.2 in 0:5 | j.2 > 0](A.0[j.2,1])\n"
          "for t.0 in 0:4, u.1 in 0:2:\n"
          "  Y.1[t.0,u.1] := 1 == u.1 && t.0 == 0 ? Y_place.2 : 0.0\n");
}

TEST_CASE("sums for other places than one, and other reductions, stay") {
    for (const char* text : {"Y[i,t] := sum[j | t == j](A[i,j]) where t in 0:4",
                             "Y[i,t] := sum[j | t == 7](A[i,j]) where t in 0:4",
                             "Y[i,t] := max[j | t == 2](A[i,j]) where t in 0:4",
                             "Y[i,t] := sum[j | t == i](A[i,j]) where t in 0:4"})
        CHECK_MESSAGE(rewritten(text, {{"A", array({5, 6})}}).find("_place") == std::string::npos,
                      text);
}

TEST_CASE("gradients of what is read at constants are sums over the same points, in one loop") {
    const Signature signature = {
        {"A", array({150, 2})}, {"B", array({150, 2})}, {"dD", array({150, 150})}};
    const std::string text =
        "Y[i,t] := sum[j | t == 0](dD[i,j]*(A[i,0]-B[j,0])) + sum[j | t == "
        "1](dD[i,j]*(A[i,1]-B[j,1])) "
        "where t in 0:2";
    CHECK(has_directive("beside ", text, signature, 1 << 16, Forced::nothing));
    check_values("Y[i,t] := -sum[j | t == 2](A[i,j]) + sum[j | t == 0](exp(A[i,j])) where t in 0:4",
                 {{"A", array({9, 30})}});
    check_values("Y[t] := sum[i,j | t == 2](A[i,j]) + sum[j | t == 0](A[0,j]) where t in 0:40",
                 {{"A", array({9, 30})}});
    check_values("Y[i,t] := sum[j | t == 1](A[i,j]) + sum[j | t == 2](A[i,j]) where t in 0:3",
                 {{"A", array({9, 30}, DType::bf16)}});
    check_values("Y[i,t] := sum[j | t == 1](A[i,j]) + sum[j | t == 2](A[i,j]) where t in 0:3",
                 {{"A", array({9, 30}, DType::i8)}});
}
