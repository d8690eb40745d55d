// tests/codegen/busy_units_test.cpp – sums that units for multiplications make
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

Signature arguments(DType dtype) {
    return {{"A", array({60, 90}, dtype)},
            {"B", array({70, 90}, dtype)},
            {"P", array({700}, dtype)},
            {"Q", array({90}, dtype)}};
}

bool multiplies(const std::string& text, const std::string& cpu, DType dtype = DType::f32) {
    Target target = example_target(64);
    target.cpu = cpu;
    const std::string plan = str(codegen::plan(bound(text, named(text, arguments(dtype))), target));
    CAPTURE(plan);
    return plan.find("adds by multiply-adds") != std::string::npos;
}

const std::string l1 = "D[i,j] := sum[k](abs(A[i,k] - B[j,k]))";

TEST_CASE("where units for additions stand apart, sums of differences are multiply-adds") {
    for (const std::string& text : {l1, std::string("D[i,j] := sum[k](max(A[i,k] - B[j,k], 0))"),
                                    std::string("D[i,j] := sum[k](min(A[i,k], B[j,k]))"),
                                    std::string("s[i] := abs(P[i] - Q[j])")}) {
        CAPTURE(text);
        CHECK(multiplies(text, "znver4"));
        CHECK(multiplies(text, "znver3", DType::f64));
        CHECK_FALSE(multiplies(text, "sapphirerapids"));
        CHECK_FALSE(multiplies(text, "znver4", DType::i32));
        check_values(text, named(text, arguments(DType::f32)));
        check_values(text, named(text, arguments(DType::f64)));
    }
}

TEST_CASE("sums by multiply-adds run in lanes of any number") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t columns : {1, 2, 3, 5, 7, 12}) {
            CAPTURE(columns);
            const Signature signature = {{"A", array({40, 90}, dtype)},
                                         {"S", array({90, columns}, dtype)},
                                         {"T", array({columns, 90}, dtype)}};
            for (const char* text :
                 {"D[i,j] := sum[k](abs(A[i,k] - S[k,j]))",
                  "D[j,i] := sum[k](abs(A[i,k] - S[k,j]))",
                  "D[i,j] := sum[k](abs(A[i,k] - T[j,k]))", "D[i,j] := max[k](S[k,j] + A[i,k])"})
                check_values(text, named(text, signature));
        }
}

TEST_CASE("sums of products, of elements alone, of other functions and other reductions are not") {
    for (const char* text :
         {"D[i,j] := A[i,k]*B[j,k]", "D[i,j] := (A[i,k] - B[j,k])^2", "s[i] := sum[k](A[i,k])",
          "D[i,j] := sum[k](exp(A[i,k] - B[j,k]))", "D[i,j] := max[k](abs(A[i,k] - B[j,k]))",
          "D[i,j] := sum[k](A[i,k]*B[j,k] + 1)"}) {
        CAPTURE(text);
        CHECK_FALSE(multiplies(text, "znver4"));
    }
}

}  // namespace
}  // namespace ricci::tests
