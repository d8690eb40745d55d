// tests/codegen/far_rows_test.cpp – reductions of long rows far apart: several rows at a time
#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether rows are taken several at a time, on a machine with a small cache unless said.
bool takes_rows(const std::string& text, const Signature& signature, std::int64_t l2_bytes = 1024,
                Forced forced = Forced::nothing) {
    return has_directive("rows far apart", text, signature, l2_bytes, forced);
}

TEST_CASE("sums of columns take several rows at a time") {
    // Whole pieces; a piece and some vectors; a tail that fills no vector; rows left over.
    for (const Shape& shape : {Shape{32, 2048}, Shape{40, 1056}, Shape{99, 1041}})
        for (const DType dtype : {DType::f32, DType::f64, DType::i32})
            CHECK(takes_rows("s[j] := A[i,j]", {{"A", array(shape, dtype)}}));
    CHECK(takes_rows("s[j] := A[i,j]", {{"A", array({97, 2100}, DType::bf16)}}));
}

TEST_CASE("so do other bodies, reducers and results of theirs") {
    const auto A = array({98, 1030});
    const auto x = array({98});
    const auto row = array({1030});
    CHECK(takes_rows("y[j] := A[i,j]*x[i]", {{"A", A}, {"x", x}}));
    CHECK(takes_rows("y[j] := max[i](A[i,j] + x[i])", {{"A", A}, {"x", x}}));
    CHECK(takes_rows("y[j] := min[i](A[i,j])", {{"A", A}}));
    CHECK(takes_rows("y[j] := relu(sum[i](A[i,j]*x[i]) + b[j])", {{"A", A}, {"x", x}, {"b", row}}));
    CHECK(takes_rows("y[j] := mean[i](A[i,j]^2)", {{"A", A}}));
    CHECK(takes_rows("y[j] += A[i,j]", {{"y", row}, {"A", A}}));
    CHECK(takes_rows("y[j] := exp(A[i,j])*x[i]", {{"A", A}, {"x", x}}));
    CHECK(takes_rows("y[c,j] := sum[n,i](X[n,c,i,j])", {{"X", array({2, 3, 32, 1030})}}));
    // Of a triangle each result has rows of its own.
    CHECK(takes_rows("y[c,j] := sum[i | i >= c](X[i,j]*c) where c in 0:20",
                     {{"X", array({120, 1030})}}));
}

TEST_CASE("what is the same in all columns is computed once for a row") {
    const auto A = array({98, 1030});
    const auto x = array({98});
    CHECK(takes_rows("y[j] := A[i,j]*((B[i,j] - x[i])/sqrt(v[i]^2 + 1/10))",
                     {{"A", A}, {"B", A}, {"x", x}, {"v", x}}));
    // Loads of places that data choose are early too, the arithmetic of their integers is not.
    CHECK(takes_rows(
        "y[j] := A[i,j]*sqrt(abs(x[clamp(k[i])] - 1)) + n[i]//3",
        {{"A", A}, {"x", x}, {"k", array({98}, DType::i32)}, {"n", array({98}, DType::i32)}}));
    // Functions of rows are no reason against it.
    CHECK(takes_rows("y[j] := A[i,j]*exp(x[i])*tanh(x[i])*sin(x[i])", {{"A", A}, {"x", x}}));
}

TEST_CASE("terms that share their parts many times over take no longer") {
    std::string text = "u0[i,j] := A[i,j]*A[i,j] + A[i,j]\n";
    for (int n = 1; n < 40; ++n)
        text += "u" + std::to_string(n) + "[i,j] := u" + std::to_string(n - 1) + "[i,j]*u" +
                std::to_string(n - 1) + "[i,j]\n";
    const BoundProgram program = bound(text + "s[j] := u39[i,j]", {{"A", array({1400, 1040})}});
    CHECK(!codegen::plan(program, example_target(64)).steps.empty());
}

TEST_CASE("few pieces are summed in two levels, the last of which is shorter") {
    CHECK(takes_rows("s[j] := A[i,j]", {{"A", array({288, 1040})}}, 1024, Forced::two_levels));
    CHECK(takes_rows("s[j] := A[i,j]", {{"A", array({301, 1040})}}, 1024, Forced::two_levels));
}

TEST_CASE("rows that are near, short or in a cache are not") {
    CHECK(!takes_rows("s[j] := A[i,j]", {{"A", array({64, 300})}}));
    CHECK(!takes_rows("s[j] := A[i,j]", {{"A", array({31, 1040})}}));
    CHECK(!takes_rows("s[j] := A[i,j]", {{"A", array({32, 1040})}}, 1 << 20));
    CHECK(!takes_rows("s[j] := argmax[i](A[i,j])", {{"A", array({32, 1040})}}));
    CHECK(!takes_rows("s[j] := exp(A[i,j])*tanh(A[i,j])", {{"A", array({32, 1040})}}));
    CHECK(!takes_rows("s[j] := sum[i | i <= j](A[i,j])", {{"A", array({32, 540})}}));
}

}  // namespace
}  // namespace ricci::tests
