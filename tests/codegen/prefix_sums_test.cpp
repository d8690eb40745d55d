// tests/codegen/prefix_sums_test.cpp – sums up to each point, block by block
#include "codegen/prefix_sums.h"

#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether the program is computed in blocks. Checks values.
bool is_in_blocks(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    check_values(text, signature);
    const BoundProgram program = bound(text, signature);
    return codegen::with_prefix_sums(program, codegen::all_prefixes).equations.size() >
           program.equations.size();
}

Signature row(std::int64_t points) { return {{"x", array({points})}}; }
Signature rows(std::int64_t points) { return {{"X", array({9, points})}}; }

}  // namespace

TEST_CASE("sums up to a point, and from it on, are in blocks") {
    for (const std::int64_t n : {66, 79, 80, 100}) {
        CAPTURE(n);
        for (const char* relation : {"l <= k", "l < k", "k >= l", "k > l", "l >= k", "l > k"})
            CHECK(is_in_blocks(format("Y[i,k] := sum[l | {}](X[i,l]) where k in 0:{}", relation, n),
                               rows(n)));
    }
}

TEST_CASE("sums of many blocks before each are in blocks themselves") {
    const auto equations = [](const char* relation) {
        const std::string text = format("y[k] := sum[l | {}](x[l]) where k in 0:1100", relation);
        CHECK(is_in_blocks(text, row(1100)));
        return codegen::with_prefix_sums(bound(text, row(1100)), codegen::all_prefixes)
            .equations.size();
    };
    CHECK(equations("l <= k") == 7);
    CHECK(equations("l > k") == 7);
}

TEST_CASE("other reducers, other indices, and what is done to the result") {
    CHECK(is_in_blocks("Y[i,k] := max[l | l <= k](X[i,l]) where k in 0:100", rows(100)));
    CHECK(is_in_blocks("Y[k,i] := min[l | l >= k](X[i,l]) where k in 0:100", rows(100)));
    CHECK(is_in_blocks("y[k] := prod[l | l < k](x[l]) where k in 0:100", row(100)));
    CHECK(is_in_blocks("y[k] := sum[i,l | l <= k](X[i,l]) where k in 0:100", rows(100)));
    CHECK(is_in_blocks("y[k] := sum[i,l | l <= k && i < 5](X[i,l]) where k in 0:100", rows(100)));
    CHECK(is_in_blocks("Y[k,j] := sum[l | l <= k](A[l]*B[l,j]) where k in 0:90",
                       {{"A", array({90})}, {"B", array({90, 7})}}));
    CHECK(is_in_blocks("y[k] := relu(sum[l | l <= k](x[l])) + k where k in 0:100", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l | l <= k](x[l] > 0) where k in 0:100", row(100)));
    CHECK(is_in_blocks("y[k] := any[l | l <= k](x[l] > 0.9) where k in 0:100", row(100)));
    CHECK(is_in_blocks("y[k] := all[l | l >= k](x[l] < 0.9) where k in 0:100", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l | l <= k](x[l]) where k in 0:100",
                       {{"x", array({100}, DType::i8)}}));
    CHECK(is_in_blocks("y[k] := sum[l | l <= k](x[l]) where k in 0:100",
                       {{"x", array({100}, DType::f64)}}));
}

TEST_CASE("results of a part of the points, moved ones, and points from elsewhere") {
    CHECK(is_in_blocks("y[k] := sum[l | l <= k](x[l]) where k in 0:70", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l | l <= k+20](x[l]) where k in 0:80", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l | l < k](x[l]) where k in 0:97", row(96)));
    CHECK(is_in_blocks("y[k] := sum[l | l >= k+2](x[l]) where k in 0:96", row(96)));
    CHECK(is_in_blocks("y[k] := sum[l | l > k](x[l]) where k in 0:96", row(95)));
    CHECK(is_in_blocks("y[k] := sum[l in 10:95 | l <= k+10](x[l]) where k in 0:85", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l in 10:95 | l >= k+10](x[l]) where k in 0:86", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l | l < k+1 && x[0] < 2.0](x[l]) where k in 0:100", row(100)));
}

TEST_CASE("what no result takes is not read: the array may end before the range of the sum") {
    CHECK(is_in_blocks("y[k] := sum[l in 0:2000 | l <= k](x[l]) where k in 0:100", row(100)));
    CHECK(is_in_blocks("y[k] := sum[l in 0:2000 | l >= k+1900](x[l-1900]) where k in 0:100",
                       row(100)));
    // Few results or points are left as they are.
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l <= k](x[l]) where k in 0:4", row(400)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l >= k+380](x[l]) where k in 0:20", row(400)));
}

TEST_CASE("terms that move with the result, and places that may lie outside, stay as they are") {
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l <= k](x[l]*x[k])", row(100)));
    CHECK_FALSE(
        is_in_blocks("y[k] := sum[l | l <= k && 2*l != k](x[l]) where k in 0:100", row(100)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l <= 2*k](x[l]) where k in 0:50", row(100)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l+k <= 99](x[l]) where k in 0:100", row(100)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l <= k-2](x[l]) where k in 0:100", row(100)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l <= k+1](x[l]) where k in 0:100", row(100)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l >= k+3](x[l]) where k in 0:100", row(100)));
    CHECK_FALSE(is_in_blocks("y[k] := sum[l | l <= k](x[l]) where k in 0:60", row(60)));
    CHECK_FALSE(is_in_blocks("y[k] := argmax[l | l <= k](x[l]) where k in 0:100", row(100)));
}

}  // namespace ricci::tests
