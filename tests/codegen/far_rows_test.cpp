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
    for (const Shape& shape : {Shape{32, 8192}, Shape{40, 4128}, Shape{99, 4113}})
        for (const DType dtype : {DType::f32, DType::f64, DType::i32})
            CHECK(takes_rows("s[j] := A[i,j]", {{"A", array(shape, dtype)}}));
    CHECK(takes_rows("s[j] := A[i,j]", {{"A", array({97, 4200}, DType::bf16)}}));
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
    CHECK(takes_rows("s[j] := A[i,j]", {{"A", array({288, 4112})}}, 1024, Forced::two_levels));
    CHECK(takes_rows("s[j] := A[i,j]", {{"A", array({301, 4112})}}, 1024, Forced::two_levels));
}

/// Whether squares of rows and columns are transposed, whatever a cache holds.
bool takes_squares(const std::string& text, const Signature& signature,
                   Forced forced = Forced::nothing) {
    return has_directive("squares are transposed", text, signature, 1 << 20, forced);
}

TEST_CASE("an operand along the rows is summed in squares") {
    // Whole strips; rows and columns left over; fewer columns than a vector has lanes.
    for (const auto& [rows, columns] : {std::pair{128, 256}, {97, 300}, {64, 21}, {333, 16}})
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::bf16, DType::u8})
            CHECK(takes_squares("s[i] := A[i,k]*B[k,i]", {{"A", array({columns, rows}, dtype)},
                                                          {"B", array({rows, columns}, dtype)}}));
    const auto A = array({99, 102});
    const auto B = array({102, 99});
    const auto w = array({102});
    CHECK(takes_squares("s[i] := relu(sum[k](A[i,k]*B[k,i]*w[k]) + 1)",
                        {{"A", A}, {"B", B}, {"w", w}}));
    CHECK(takes_squares("s[i] := max[k](abs(A[i,k] - B[k,i]))", {{"A", A}, {"B", B}}));
    CHECK(takes_squares("s[i] += exp(A[i,k] - B[k,i])", {{"s", array({99})}, {"A", A}, {"B", B}}));
    CHECK(takes_squares("s[i] := mean[k]((S[i,k] - S[k,i])^2)", {{"S", array({70, 70})}}));
    CHECK(takes_squares("s[n,i] := A[n,i,k]*B[n,k,i]",
                        {{"A", array({3, 40, 50})}, {"B", array({3, 50, 40})}}));
    CHECK(takes_squares("s[i,j] := A[i,j,k]*B[k,j,i]",
                        {{"A", array({40, 3, 50})}, {"B", array({50, 3, 40})}}));
    CHECK(takes_squares("s[i] := A[i,n,k]*B[n,k,i]",
                        {{"A", array({40, 3, 50})}, {"B", array({3, 50, 40})}}));
    CHECK(takes_squares("s[i] := A[i,k+1]*A[i,k]*B[k+2,i+1] where k in 0:50, i in 0:40",
                        {{"A", array({40, 51})}, {"B", array({52, 41})}}));
}

TEST_CASE("what is padded, clamped or gathered beside squares is read lane by lane") {
    const Signature square = {
        {"A", array({70, 80})}, {"B", array({80, 70})}, {"C", array({80, 70})}};
    (void)takes_squares("s[i] := A[i,k]*B[k,i]*C[pad(k-1),pad(i+1)]", square);
    (void)takes_squares("s[i] := sum[k](A[i,k]*B[k,i] + C[clamp(k+2),clamp(i-3)])", square);
    (void)takes_squares("s := A[i,k]*B[k,pad(i-1)]*C[k,i]", square);
    Signature gathered = square;
    gathered["J"] = array({70}, DType::i32);
    (void)takes_squares("s[i] := A[i,k]*B[k,i]*C[k,clamp(J[i])]", gathered);
    // Steps of one and of three in one kernel.
    (void)takes_squares("s[i] := A[i,k]*B[k,i]*D[i,3*k]",
                        {{"A", array({70, 80})}, {"B", array({80, 70})}, {"D", array({70, 240})}});
}

TEST_CASE("a full sum of the kind is one of columns first") {
    const auto A = array({100, 130});
    const auto B = array({130, 100});
    CHECK(takes_squares("s := A[i,k]*B[k,i]", {{"A", A}, {"B", B}}));
    CHECK(takes_squares("s := max[i,k](A[i,k] + B[k,i])", {{"A", A}, {"B", B}}));
    CHECK(takes_squares("s := (S[i,k] - S[k,i])^2", {{"S", array({70, 70})}}));
    CHECK(takes_squares("s[n] := A[n,i,k]*B[n,k,i]",
                        {{"A", array({3, 40, 50})}, {"B", array({3, 50, 40})}}));
}

TEST_CASE("long rows of few columns are summed in squares in two levels, if chunks are equal") {
    const Signature equal = {{"A", array({40, 96})}, {"B", array({96, 40})}};
    CHECK(takes_squares("s[i] := A[i,k]*B[k,i]", equal, Forced::two_levels));
    const Signature prime = {{"A", array({40, 97})}, {"B", array({97, 40})}};
    CHECK(takes_squares("s[i] := A[i,k]*B[k,i]", prime, Forced::two_levels));
    const auto has_levels = [](const Signature& signature) {
        Target target = example_target(64);
        target.forced = Forced::two_levels;
        const auto plan = codegen::plan(bound("s[i] := A[i,k]*B[k,i]", signature), target);
        return str(plan).find("_partial") != std::string::npos;
    };
    CHECK(has_levels(equal));
    CHECK(!has_levels(prime));
}

TEST_CASE("places, conditions, few rows and strided lanes are not summed in squares") {
    const Signature square = {{"A", array({70, 70})}, {"B", array({70, 70})}};
    CHECK(!takes_squares("s[i] := argmax[k](A[i,k]*B[k,i])", square));
    CHECK(!takes_squares("s[i] := sum[k | k <= i](A[i,k]*B[k,i])", square));
    CHECK(!takes_squares("s[i] := A[i,k]*B[k,i]", {{"A", array({70, 7})}, {"B", array({7, 70})}}));
    CHECK(!takes_squares("s[i] := A[i,k]*b[k]", {{"A", array({70, 70})}, {"b", array({70})}}));
    // Lanes of which no operand is contiguous gain nothing.
    CHECK(!takes_squares("s[i] := A[i,k]*B[k,2*i]",
                         {{"A", array({40, 50})}, {"B", array({50, 80})}}));
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
