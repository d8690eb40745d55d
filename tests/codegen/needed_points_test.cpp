// tests/codegen/needed_points_test.cpp – sums that nothing reads are not made
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// The conditions of the product that is `S`, on vectors of 16 lanes, after checks of the values.
std::string conditions(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    std::string found;
    for (const int vector_bytes : {16, 64}) {
        Target target = example_target(vector_bytes);
        target.forced = Forced::tiles;
        const codegen::Plan plan = codegen::plan(program, target);
        CHECK(interpreted_difference(program, signature, plan) == "");
        for (const codegen::Nest& nest : plan.nests) {
            const std::string loops = str(nest);
            const bool is_product = loops.find("out S:") != std::string::npos &&
                                    loops.find("for k in") != std::string::npos;
            if (vector_bytes == 16 || !is_product) continue;
            for (std::size_t at = loops.find("if "); at != std::string::npos;
                 at = loops.find("if ", at + 1))
                found += loops.substr(at + 3, loops.find('\n', at) - at - 3) + "; ";
        }
    }
    CHECK(compiled_difference(program, signature) == "");
    return found;
}

Signature matrices(std::int64_t rows, std::int64_t columns, DType dtype = DType::f32) {
    return {{"A", array({rows, 20}, dtype)}, {"B", array({20, columns}, dtype)}};
}

const std::string product = "S[i,j] := A[i,k]*B[k,j]; ";

TEST_CASE("a product of which a triangle is read is summed in that triangle") {
    const std::string lower = "(8*row_tile - 48*column_tile + 7) >= 0; ";
    CHECK(conditions(product + "m[i] := max[j | j <= i](S[i,j])", matrices(96, 96)) == lower);
    CHECK(conditions(product + "m[i] := max[j | i >= j](S[i,j])", matrices(96, 96)) == lower);
    CHECK(conditions(product + "m[i] := sum[j](j <= i ? exp(S[i,j]) : 0)", matrices(96, 96)) ==
          lower);
    CHECK(conditions(product + "m[j] := max[i | j > i+3](S[i,j])", matrices(96, 96)) ==
          "(-8*row_tile + 48*column_tile + 43) >= 0; ");
    // Through what reads it, and what reads that.
    CHECK(conditions(product + "E[i,j] := exp(S[i,j])*j; m[i] := sum[j | j <= i](E[i,j])",
                     matrices(96, 96)) == lower);
    CHECK(conditions(product + "m[i] := sum[j](j <= i && j >= 2 ? exp(S[i,j]) : 0)",
                     matrices(96, 96)) != "");
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
        for (const std::int64_t columns : {45, 96, 130})
            CHECK(conditions(product + "m[i] := max[j | j <= i](S[i,j])",
                             matrices(61, columns, dtype)) != "");
    CHECK(conditions("S[b,i,j] := A[b,i,k]*B[b,j,k]; m[b,i] := max[j | j <= i](S[b,i,j]); "
                     "E[b,i,j] := j <= i ? exp(S[b,i,j] - m[b,i]) : 0; s[b,i] := E[b,i,j]; "
                     "Y[b,i,d] := sum[j | j <= i](E[b,i,j]*B[b,j,d])/s[b,i]",
                     {{"A", array({3, 50, 20})}, {"B", array({3, 50, 20})}}) != "");
}

TEST_CASE("of several readers the weaker condition counts, and none where one has none") {
    const Signature signature = matrices(96, 96);
    CHECK(conditions(
              product + "m[i] := max[j | j <= i](S[i,j]); n[i] := m[i] + sum[j | j < i](S[i,j])",
              signature) == "(8*row_tile - 48*column_tile + 7) >= 0; ");
    CHECK(conditions(
              product + "m[i] := max[j | j <= i](S[i,j]); n[i] := m[i] + sum[j | j > i](S[i,j])",
              signature) == "");
    CHECK(conditions(product + "m[i] := max[j | j <= i](S[i,j]); n[i] := m[i] + sum[j](S[i,j])",
                     signature) == "");
    // Of the result that the condition asks for, not of the one that it leaves.
    CHECK(conditions(product + "m[i] := sum[j](j <= i ? S[i,j] : 2*S[i,j])", signature) == "");
    // Read in another order, or of a part.
    CHECK(conditions(product + "m[i] := max[j | j <= i](S[j,i])", signature) != "");
    CHECK(conditions(product + "m[i] := sum[j | j <= i](S[i,2*j])", signature) == "");
}

TEST_CASE("what is read along diagonals or backwards is a condition of the points written") {
    const Signature signature = matrices(96, 96);
    CHECK(conditions(product + "m[i] := sum[j | j <= i](S[95-i,j])", signature) ==
          "(-8*row_tile - 48*column_tile + 95) >= 0; ");
    const std::string band =
        "(8*row_tile - 48*column_tile + 7) >= 0) && ((-8*row_tile + 48*column_tile + 56) >= 0";
    for (const std::string reader : {
             "m[i] := max[j | j <= i && j >= i-9](S[i,j])",
             "m[i] := sum[j | j <= i && j >= i-9](S[i,j])",
             "m[i] := sum[r in 0:10 | r <= i](exp(S[i,i-r])) where i in 0:96",
             "m[i] := sum[r in 0:10 | r <= i](exp(S[i,i-r])) + max[j | j <= i && j >= i-9](S[i,j]) "
             "where i in 0:96",
         }) {
        CAPTURE(reader);
        CHECK(conditions(product + reader, signature).find(band) != std::string::npos);
    }
    // Ten places one after the other are no diagonal where they may be in two rows.
    CHECK(conditions(product + "m[i] := sum[r in 0:10](S[i//10,i%10+r]) where i in 0:900",
                     signature) == "");
}

TEST_CASE("a condition that a statement says twice counts once, however often it reads") {
    std::string reads = "1";
    for (int n = 0; n < 40; ++n) reads += "*cos(T[i]+" + std::to_string(n) + ")";
    const Signature signature = {{"A", array({40, 5})}};
    const std::string text =
        "T[i] := A[i,k]; "
        "Z[j] := sum[i | i > 2](sum[k | k <= i && i > 2](" +
        reads + "*A[k,j]))";
    CHECK(compiled_difference(bound(text, signature), signature) == "");
}

TEST_CASE("conditions of large numbers leave everything summed") {
    CHECK(conditions("S[i,j] := A[i,k]*B[k,j]; "
                     "m[i] := sum[j | j*300000000000000000 >= i](S[i,j])",
                     matrices(30, 20))
              .find(">= 0") == std::string::npos);
}

TEST_CASE("a triangular result is summed in its tiles alone") {
    CHECK(conditions("S[i,j] := sum[k | j <= i](A[i,k]*B[k,j])", matrices(96, 96)) ==
          "(8*row_tile - 48*column_tile + 7) >= 0; ");
}

}  // namespace
}  // namespace ricci::tests
