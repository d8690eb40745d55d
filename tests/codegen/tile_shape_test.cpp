// tests/codegen/tile_shape_test.cpp – which vectors the rows of a contraction's tiles are made of
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Checks the values of the program, and that on units of so many bytes its schedule says so.
void check_tile(int unit_bytes, const std::string& tile, const std::string& text,
                const Signature& signature) {
    Target target = example_target(64);
    target.unit_bytes = unit_bytes;
    const codegen::Plan plan = codegen::plan(bound(text, signature), target);
    CHECK_MESSAGE(str(plan).find(tile) != std::string::npos, tile, "\n", str(plan));
    check_values(text, signature);
}

Signature matrices(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype = DType::f32) {
    return {{"A", array({m, k}, dtype)}, {"B", array({k, n}, dtype)}};
}

const std::string product = "C[i,j] := A[i,k]*B[k,j]";

}  // namespace

TEST_CASE("units of half a vector's width take vectors of that width where fewer lanes idle") {
    check_tile(64, "tile j 2 16", product, matrices(20, 20, 20));
    check_tile(32, "tile j 3 8", product, matrices(20, 20, 20));
    check_tile(64, "tile j 3 16", product, matrices(33, 33, 33));
    check_tile(32, "tile j 5 8", product, matrices(33, 33, 33));
    check_tile(32, "tile j 5 4", product, matrices(60, 60, 60, DType::f64));
}

TEST_CASE("whole vectors stay where none of their lanes idle, sums are short or lanes are masked") {
    check_tile(32, " 16  ", product, matrices(48, 40, 48));
    check_tile(32, " 16  ", product, matrices(500, 3, 40));
    const std::string gradient =
        "dX[n,c,t] := sum[o,u | t-u >= 0 && t-u < 20](dY[n,o,t-u]*W[o,c,u]) where t in 0:24";
    check_tile(32, " 16  ", gradient, {{"dY", array({2, 8, 20})}, {"W", array({8, 16, 5})}});
}
