// tests/codegen/lane_masks_test.cpp – masks of a tile's lanes that are all set before its sums
#include <string>

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether a nest has a mask for each tap, where the first-level cache is that small; values are
/// checked on every machine.
bool has_masks(const std::string& text, const Signature& signature, std::int64_t l1_bytes) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    const auto with = [&](Target target) {
        target.l1_bytes = l1_bytes;
        target.forced = Forced::tiles;
        return target;
    };
    for (const int vector_bytes : {16, 32, 64})
        CHECK(interpreted_difference(program, signature, with(example_target(vector_bytes))) == "");
    CHECK(compiled_difference(program, signature, with(codegen::cpu::host_target())) == "");
    const codegen::Plan plan = codegen::plan(program, with(example_target(64)));
    return str(plan).find("scratch masks: bool") != std::string::npos;
}

TEST_CASE("few rows against many taps have the masks of all taps before their sums") {
    const std::string inside = "t-r >= 0 && t-r < 7 && u-s >= 0 && u-s < 19";
    const std::string apart = "t-2*r >= 0 && t-2*r < 7 && u-3*s >= 0 && u-3*s < 19";
    const std::string range = " where t in 0:9, u in 0:21";
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t batch : {1, 3}) {
            const Signature signature = {{"dY", array({batch, 5, 7, 19}, dtype)},
                                         {"W", array({5, 3, 3, 3}, dtype)}};
            const std::string sum = "](dY[n,o,t-r,u-s]*W[o,c,r,s])" + range;
            CHECK(has_masks("dX[n,c,t,u] := sum[o,r,s | " + inside + sum, signature, 64));
            CHECK(!has_masks("dX[n,c,t,u] := sum[o,r,s | " + inside + sum, signature, 1 << 20));
            CHECK(has_masks("dX[n,c,t,u] := max[o,r,s | " + inside + sum, signature, 64));
            CHECK(has_masks(
                "dX[n,c,t,u] := sum[o,r,s | " + apart + "](dY[n,o,t-2*r,u-3*s]*W[o,c,r,s])" + range,
                signature, 64));
        }
}

TEST_CASE("each residue of a strided gradient does so") {
    CHECK(has_masks(
        "dX[n,c,t,u] := sum[o,y,x | t-2*y+2 >= 0 && t-2*y+2 < 5 && u-2*x+2 >= 0 && u-2*x+2 < 5]"
        "(dY[n,o,y,x]*W[o,c,t-2*y+2,u-2*x+2]) where t in 0:21, u in 0:37, y in 0:11, x in 0:19",
        {{"dY", array({2, 6, 11, 19})}, {"W", array({6, 3, 5, 5})}}, 64));
}

TEST_CASE("lanes along a free index are masked where the target loads and stores some of them") {
    const auto is_masked = [](DType dtype, int vector_bytes) {
        const Signature signature = {{"A", array({3, 40, 40}, dtype)}};
        const BoundProgram program =
            bound("s[b,i] := sum[j | j <= i](A[b,j,i]*A[b,j,j])", signature);
        Target target = example_target(vector_bytes);
        target.forced = Forced::free_lanes;
        CHECK(interpreted_difference(program, signature, target) == "");
        return str(codegen::plan(program, target)).find("\n  mask i") != std::string::npos;
    };
    for (const DType dtype : {DType::f32, DType::f64}) {
        CHECK(is_masked(dtype, 64));
        CHECK(is_masked(dtype, 32));
        CHECK(!is_masked(dtype, 16));
    }
    CHECK(is_masked(DType::f16, 64));
    CHECK(!is_masked(DType::f16, 32));
}

TEST_CASE("lanes are masked inside of what is asked of other axes") {
    // Reads behind the last row are excluded by a condition of rows alone.
    for (const std::int64_t points : {3, 5, 9, 12}) {
        const std::string text = "Y[i,j] := sum[k in 0:" + std::to_string(points) +
                                 " | i+1 < size(X,0) && j+k < size(X,1)](X[i+1,j+k]) "
                                 "where i in 0:70, j in 0:16";
        const Signature signature = {{"X", array({70, 16})}};
        const BoundProgram program = bound(text, signature);
        for (const int vector_bytes : {16, 32, 64})
            CHECK(interpreted_difference(program, signature, example_target(vector_bytes)) == "");
        CHECK(compiled_difference(program, signature) == "");
    }
}

}  // namespace
}  // namespace ricci::tests
