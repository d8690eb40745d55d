// tests/codegen/pack_test.cpp – how operands of contractions are laid out in panels
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

std::string plan_text(const std::string& text, const Signature& signature, int vector_bytes = 64) {
    return str(codegen::plan(bound(text, signature), example_target(vector_bytes)));
}

}  // namespace

TEST_CASE("operands that are contiguous along neither side's axis are packed by squares") {
    const auto check_packed = [](const std::string& text, const Signature& signature) {
        CHECK(plan_text(text, signature).find("step of a point; transposed") != std::string::npos);
        check_values(text, signature);
    };
    for (const std::int64_t d : {16, 25, 32, 37})
        for (const std::int64_t e : {24, 19})
            check_packed("C[a,c,d,e] := A[e,f,a,d]*B[c,f]",
                         {{"A", array({e, 21, 3, d})}, {"B", array({26, 21})}});
    // In tasks along that axis, too.
    const codegen::Plan plan =
        codegen::plan(bound("C[a,c,d,e] := A[e,f,a,d]*B[c,f]",
                            {{"A", array({24, 64, 8, 128})}, {"B", array({26, 64})}}),
                      example_target(64));
    CHECK(str(plan).find("step of a point; transposed") != std::string::npos);
    CHECK(plan.steps.front().tasks > 1);
}

TEST_CASE(
    "squares of elements a few apart are transposed, those of elements farther apart are not") {
    const auto is_transposed = [](std::int64_t step, DType dtype) {
        // Rows 2 KiB apart, which are not read where they stand.
        const auto columns = std::int64_t(2048 / size_bytes(dtype));
        const Signature signature = {{"A", array({37, columns}, dtype)},
                                     {"B", array({41, 145}, dtype)}};
        const std::string text =
            "C[i,j] := A[i," + std::to_string(step) + "*k]*B[k,j] where k in 0:41";
        check_values(text, signature);
        return plan_text(text, signature).find("step of a point; transposed") != std::string::npos;
    };
    for (const DType dtype : {DType::f32, DType::f64, DType::i16, DType::bf16})
        for (const std::int64_t step : {1, 2, 3, 4}) {
            INFO(step, " ", name(dtype));
            CHECK(is_transposed(step, dtype));
        }
    CHECK(!is_transposed(5, DType::f32));
    // Both operands, the gradient of a convolution whose windows do not overlap.
    check_values("dW[o,c,r,s] := X[n,c,2*y+r,2*x+s]*dY[n,o,y,x] where r in 0:2, s in 0:2",
                 {{"X", array({2, 21, 20, 42})}, {"dY", array({2, 19, 10, 21})}});
}

TEST_CASE("rows are packed side by side, as squares or lines, others are copied") {
    const auto check_rows = [](const std::string& rows, const std::string& text,
                               const Signature& signature) {
        const std::string plan = plan_text(text, signature);
        CHECK_MESSAGE(plan.find(rows) != std::string::npos, plan);
        check_values(text, signature);
    };
    const std::string beside = "C[i,j] := A[k,i]*B[k,j]";
    check_rows("step of a point\n", beside, {{"A", array({261, 37})}, {"B", array({261, 145})}});
    check_rows("step of a point\n", "C[b,i,j] := A[l,b,k,i]*B[l,k,j]",
               {{"A", array({13, 2, 20, 29})}, {"B", array({13, 20, 150})}});
    // Rows 2 KiB apart, which are not read where they stand.
    const std::string apart = "C[i,j] := A[i,k]*B[k,j]";
    check_rows("step of a point; transposed", apart,
               {{"A", array({37, 512})}, {"B", array({512, 145})}});
    check_rows("step of a point; transposed", "C[i,j] := sum[k]((A[i,k] + 1)*B[k,j])",
               {{"A", array({37, 261}, DType::f64)}, {"B", array({261, 99}, DType::f64)}});
    check_rows("step of a point; transposed", "C[i,j] := sum[k,l](A[i,k,l]*B[l,k,j])",
               {{"A", array({37, 128, 4})}, {"B", array({4, 128, 145})}});
    check_rows("step of a row; copied", "C[i,j] := sum[k,l in 0:3](A[i,k,l]*B[l,k,j])",
               {{"A", array({37, 50, 4})}, {"B", array({3, 50, 145})}});
}

TEST_CASE("conditions of other axes than the squares' bound what is packed") {
    const auto check = [](const std::string& columns, const std::string& text) {
        const Signature signature = {{"A", array({40, 6, 29})}, {"B", array({70, 6, 29})}};
        const std::string plan = plan_text(text, signature);
        CHECK_MESSAGE(plan.find(columns) != std::string::npos, plan);
        check_values(text, signature);
    };
    check("step of a point; transposed",
          "C[b,i,j] := sum[k,l | k <= b](A[i,k,l]*B[j,k,l]) where b in 0:6");
    check("step of a point; transposed",
          "C[b,i,j] := sum[k,l | k >= b && k < 2*b](A[i,k,l]*B[j,k,l]) where b in 0:6");
    check("step of a point; gathered",
          "C[b,i,j] := sum[k,l | l <= 4*b](A[i,k,l]*B[j,k,l]) where b in 0:6");
}

TEST_CASE("taps that stand side by side are transposed as one row, in squares of fewer lanes") {
    struct Case {
        std::int64_t taps;  ///< of a row, and rows of them
        int vector_bytes;
        const char* squares;
    };
    // Only W walks them as one: 9 taps are one square of 8 and one left over; of 49, one is left by
    // three of 16.
    const Case cases[] = {{3, 64, "unroll p in 0..8"},
                          {5, 64, "0..24 by 8"},
                          {7, 64, "0..48 by 16"},
                          {3, 32, "unroll p in 0..8"}};
    const std::string text = "Y[n,c] := D[n,o,u,2*v]*W[o,c,u,v]";
    for (const Case& each : cases) {
        const Signature signature = {{"W", array({20, 37, each.taps, each.taps})},
                                     {"D", array({30, 20, each.taps, 2 * each.taps})}};
        const std::string plan = plan_text(text, signature, each.vector_bytes);
        CHECK_MESSAGE(plan.find("step of a point; transposed") != std::string::npos, plan);
        CHECK_MESSAGE(plan.find(each.squares) != std::string::npos, plan);
        check_values(text, signature);
    }
    // Two rows of them are too few.
    CHECK(plan_text(text, {{"W", array({20, 37, 2, 2})}, {"D", array({30, 20, 2, 4})}})
              .find("step of a point; gathered") != std::string::npos);
}

TEST_CASE("squares of pairs are of as many pairs as lanes, shorter rows are copied") {
    const auto rows = [](std::int64_t points) {
        return Signature{{"A", array({40, points}, DType::bf16)},
                         {"B", array({points, 64}, DType::bf16)}};
    };
    const std::string text = "C[i,j] := A[i,k]*B[k,j]";
    Target target = example_target(64);
    target.has_bf16_dot = true;
    for (const std::int64_t points : {8, 12, 15, 16, 17, 24, 31, 32, 33}) {
        const BoundProgram program = bound(text, rows(points));
        const std::string plan = str(codegen::plan(program, target));
        const bool is_copied = plan.find("step of a row; copied") != std::string::npos;
        const bool has_squares = plan.find("unroll p in") != std::string::npos;
        CHECK_MESSAGE(is_copied == (points < 16), plan);
        CHECK_MESSAGE(has_squares == (points >= 16), plan);
        CHECK(interpreted_difference(program, rows(points), target) == "");
        CHECK(compiled_difference(program, rows(points)) == "");
    }
}
