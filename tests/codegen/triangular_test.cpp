// tests/codegen/triangular_test.cpp – products whose conditions tie rows to what is summed, or to
// columns
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether some kernel is in register tiles.
bool is_tiled(const BoundProgram& program, const Target& target) {
    for (const codegen::Schedule& schedule : codegen::plan(program, target).schedules)
        if (str(schedule).find("  tile ") != std::string::npos) return true;
    return false;
}

void check_tiled(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = bound(text, signature);
    for (const int vector_bytes : {16, 32, 64}) {
        Target target = example_target(vector_bytes);
        target.forced = Forced::tiles;
        CHECK(is_tiled(program, target));
        CHECK(interpreted_difference(program, signature, target) == "");
    }
    CHECK(compiled_difference(program, signature) == "");
}

constexpr const char* bounds[] = {"k <= i", "k >= i", "k < i", "2*k >= i+3", "k <= i && k >= i-4"};

TEST_CASE("each row of a product takes the points that its condition allows") {
    for (const char* condition : bounds)
        for (const std::int64_t size : {12, 21, 34}) {
            check_tiled(format("Y[i,j] := sum[k | {}](L[i,k]*X[k,j])", condition),
                        {{"L", array({size, size})}, {"X", array({size, 19})}});
            check_tiled(
                format("Y[i,j] := sum[k | {}](L[k,i]*X[j,k])", condition),
                {{"L", array({size, size}, DType::f64)}, {"X", array({19, size}, DType::f64)}});
        }
    check_tiled("Y[b,i,j] := max[k | k <= i](L[b,i,k]+X[k,j])",
                {{"L", array({3, 13, 13})}, {"X", array({13, 18})}});
    check_tiled("Y[b,i,j] := sum[k,l | k+l <= i](L[b,i,k,l]*X[b,k,l,j])",
                {{"L", array({2, 11, 6, 5})}, {"X", array({2, 6, 5, 17})}});
}

TEST_CASE("a triangular result is a product of which a part is not taken") {
    for (const char* condition : {"j <= i", "j > 2*i-3", "i+j < 20"})
        check_tiled(format("Y[i,j] := sum[k | {}](A[i,k]*B[k,j])", condition),
                    {{"A", array({21, 7})}, {"B", array({7, 23})}});
    check_tiled("Y[i,j] := 2*max[k | j <= i](A[i,k]+B[k,j])",
                {{"A", array({14, 7})}, {"B", array({7, 18})}});
}

TEST_CASE("what lies outside of the triangle is not computed with") {
    const std::int64_t size = 70;
    const Array L = Array::full(DType::f32, {size, size}, 1);
    for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t k = i + 1; k < size; ++k)
            L.span<float>()[std::size_t(i * size + k)] =
                k % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                           : std::numeric_limits<float>::infinity();
    const Array X = Array::full(DType::f32, {size, size}, 1);
    const Array lower = compile("Y[i,j] := sum[k | k <= i](L[i,k]*X[k,j])")(L, X);
    const Array masked = compile("Y[i,j] := sum[k | i < 3](X[i,k]*L[k,j])")(X, L);
    bool is_right = true;
    for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t j = 0; j < size; ++j) {
            const auto at = std::size_t(i * size + j);
            is_right &= lower.span<float>()[at] == float(i + 1);
            is_right &= i < 3 ? j == 0 || !std::isfinite(masked.span<float>()[at])
                              : masked.span<float>()[at] == 0;
        }
    CHECK(is_right);
}

}  // namespace
}  // namespace ricci::tests
