// tests/codegen/pinned_indices_test.cpp – reduced indices that a condition says are data
#include "codegen/pinned_indices.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/keyed.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The last equation of the rewritten program; checks values, of data in range and beyond.
std::string pinned(const std::string& text, const Signature& signature) {
    check_values(text, signature);
    const std::string program = str(codegen::with_pinned_indices(bound(text, signature)));
    const std::size_t last = program.rfind("for ");
    return program.substr(last, program.find("outputs") - last);
}

const ArgumentSpec places = array({30}, DType::i8);

}  // namespace

TEST_CASE("a row that a number chooses is gathered") {
    CHECK(pinned("Y[i,d] := sum[v | v == J[i]](E[v,d])", {{"J", places}, {"E", array({40, 6})}}) ==
          "for i.0 in 0:30, d.1 in 0:6:\n"
          "  Y.2[i.0,d.1] := f32 sum[once.3 in 0:1 | i64(J.0[i.0]) >= 0 && i64(J.0[i.0]) < 40]"
          "(E.1[i64(J.0[i.0]),d.1])\n");
    CHECK(
        pinned("Y[i,d] := sum[v | v == J[i]+3 && v <= i](E[v,d])",
               {{"J", places}, {"E", array({40, 6})}}) ==
        "for i.0 in 0:30, d.1 in 0:6:\n"
        "  Y.2[i.0,d.1] := f32 sum[once.3 in 0:1 | 3+i64(J.0[i.0]) >= 0 && 3+i64(J.0[i.0]) < 40 && "
        "3+i64(J.0[i.0]) <= i.0](E.1[3+i64(J.0[i.0]),d.1])\n");
}

TEST_CASE("indices that one number counts are its digits") {
    CHECK(pinned("Y[i] := sum[r in 0:5, s in 0:8 | 8*r+s == J[i]](A[r,s])",
                 {{"J", places}, {"A", array({5, 8})}}) ==
          "for i.0 in 0:30:\n"
          "  Y.2[i.0] := f32 sum[once.3 in 0:1 | i64(J.0[i.0])//8 >= 0 && i64(J.0[i.0])//8 < 5]"
          "(A.1[i64(J.0[i.0])//8,i64(J.0[i.0])%8])\n");
    CHECK(pinned("Y[i] := sum[r in 2:5, s in -1:6 | 20-8*r-s == J[i]](A[r,s+1])",
                 {{"J", places}, {"A", array({5, 8})}}) ==
          "for i.0 in 0:30:\n"
          "  Y.2[i.0] := f32 sum[once.3 in 0:1 | (5-1*i64(J.0[i.0]))//8+2 >= 2 && "
          "(5-1*i64(J.0[i.0]))//8+2 < 5 && ((5-1*i64(J.0[i.0]))%8-1 >= -1 && "
          "(5-1*i64(J.0[i.0]))%8-1 < 6)](A.1[(5-1*i64(J.0[i.0]))//8+2,(5-1*i64(J.0[i.0]))%8])\n");
}

TEST_CASE("a choice in a sum is a condition") {
    CHECK(pinned("Y[i] := sum[k](k == J[i] ? A[i,k]*B[k] : 0)",
                 {{"J", places}, {"A", array({30, 50})}, {"B", array({50})}}) ==
          "for i.0 in 0:30:\n"
          "  Y.3[i.0] := f32 sum[once.2 in 0:1 | i64(J.0[i.0]) >= 0 && i64(J.0[i.0]) < 50]"
          "(A.1[i.0,i64(J.0[i.0])]*B.2[i64(J.0[i.0])])\n");
}

TEST_CASE("counts and choices by a key are updates of its element") {
    const auto check = [](const std::string& text, const Signature& signature) {
        check_values(text, signature);
        Target target = example_target(64);
        const std::string program =
            str(codegen::with_keyed_updates(bound(text, signature), target));
        CHECK_MESSAGE(program.find("sum[") == std::string::npos, program);
    };
    check("H[a] := count[i](J[i] == a) where a in 0:50", {{"J", places}});
    check("H[a,b] := count[i](J[i] == a && K[i]+3 == b) where a in 0:50, b in 0:9",
          {{"J", places}, {"K", places}});
    check("H[a] := sum[i](J[i] == a && A[i,2] > 0 ? A[i,3] : 0) where a in 0:50",
          {{"J", places}, {"A", array({30, 20})}});
    // As the gradient of a product of maxima and sums.
    check("D[i,k] := sum[j](k == T[i,j] ? A[i,j] : 0) where k in 0:50",
          {{"T", array({30, 20}, DType::i8)}, {"A", array({30, 20})}});
}

TEST_CASE("the other indices of a sum, of a product, of extremes stay") {
    CHECK(pinned("y[d] := sum[e,k | k == J[e]](v[e]*A[k,d])",
                 {{"J", places}, {"A", array({50, 7})}, {"v", array({30})}}) ==
          "for d.0 in 0:7:\n"
          "  y.3[d.0] := f32 sum[e.1 in 0:30 | i64(J.0[e.1]) >= 0 && i64(J.0[e.1]) < 50]"
          "(v.1[e.1]*A.2[i64(J.0[e.1]),d.0])\n");
    for (const char* reducer : {"max", "min", "prod"})
        check_values(std::string("y[d] := ") + reducer + "[e,k | k == J[e]](A[k,d])",
                     {{"J", places}, {"A", array({50, 7})}});
}

TEST_CASE("few values, several points of a number, and conditions that read there stay sums") {
    const auto stays = [](const std::string& text, const Signature& signature) {
        const std::string program = pinned(text, signature);
        CHECK_MESSAGE(program.find("[once") == std::string::npos, program);
    };
    stays("Y[i] := sum[k | k == J[i]](A[k])", {{"J", places}, {"A", array({15})}});
    check_values("Y[i] := sum[r in 0:5, s in 0:16 | 4611686018427387904*r + s == J[i]](B[r,s])",
                 {{"J", places}, {"B", array({5, 16})}});
    stays("Y[i] := sum[r,s | 4*r+s == J[i]](A[r,s])", {{"J", places}, {"A", array({5, 8})}});
    stays("Y[i] := sum[r,s | 16*r+2*s == J[i]](A[r,s])", {{"J", places}, {"A", array({5, 8})}});
    stays("Y[t] := sum[i | t == i+J[i]](A[i]) where t in 0:30",
          {{"J", places}, {"A", array({30})}});
    stays("Y[i] := sum[k | k == J[i] && A[k] > 0](A[k])", {{"J", places}, {"A", array({40})}});
    stays("Y[i] := argmax[k | k == J[i] || k == 0](A[k])", {{"J", places}, {"A", array({40})}});
}

TEST_CASE("a reduced index that is one of the result's is that one") {
    const Signature signature = {{"s", array({30}, DType::i8)}, {"X", array({30, 7})}};
    CHECK(pinned("M[t,u] := max[i,k | s[i] == t && u == k](X[i,k]) where t in 0:100, u in 0:7",
                 signature) ==
          "for t.0 in 0:100, u.1 in 0:7:\n"
          "  M.2[t.0,u.1] := f32 max[i.2 in 0:30 | i64(s.0[i.2]) == t.0](X.1[i.2,u.1])\n");
    const auto keeps = [&](const std::string& text) {
        return pinned(text, {{"X", array({30, 7})}}).find("k.") != std::string::npos;
    };
    // Values beyond the index's own, and the only index of a sum.
    CHECK(keeps("M[u] := sum[i,k | u == k](X[i,k]) where u in 0:9"));
    CHECK(keeps("M[i,u] := sum[k | u == k](X[i,k]) where u in 0:7"));
}
