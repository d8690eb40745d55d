// tests/codegen/copied_results_test.cpp – results of products that stand apart along their lanes
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether results go through an array of their own, on a machine with a second-level cache of so
/// many bytes. Checks values (doctest), forced to and as estimates choose.
bool are_copied(const std::string& text, const Signature& signature,
                std::int64_t l2_bytes = 1 << 20) {
    const BoundProgram program = bound(text, signature);
    check_values(text, signature);
    for (const int bytes : {64, 32, 16}) {
        Target forced = example_target(bytes);
        forced.forced = Forced::rewritings;
        CHECK(interpreted_difference(program, signature, forced) == "");
    }
    Target target = example_target(64);
    target.l2_bytes = l2_bytes;
    return str(codegen::plan(program, target)).find("_results") != std::string::npos;
}

const std::string kernel_gradient =
    "dW[o,c,r,s] := sum[n,y,x](dY[n,o,y,x]*X[n,c,pad(y+r-1),pad(x+s-1)]) "
    "where r in 0:3, s in 0:3, y in 0:7, x in 0:7";

TEST_CASE("many results that stand apart along their lanes are written in two steps") {
    CHECK(are_copied(kernel_gradient, {{"dY", array({2, 48, 7, 7})}, {"X", array({2, 64, 7, 7})}},
                     1 << 16));
}

TEST_CASE("so are those that a function is applied to, or that are added to an array") {
    const Signature signature = {
        {"dY", array({2, 48, 7, 7})}, {"X", array({2, 64, 7, 7})}, {"b", array({48, 3})}};
    CHECK(
        are_copied("W[o,c,r,s] := tanh(sum[n,y,x](dY[n,o,y,x]*X[n,c,pad(y+r-1),pad(x+s-1)])) "
                   "+ b[o,s] where r in 0:3, s in 0:3, y in 0:7, x in 0:7",
                   signature, 1 << 16));
    CHECK(are_copied(
        "V[o,c,r,s] -= sum[n,y,x](dY[n,o,y,x]*X[n,c,pad(y+r-1),pad(x+s-1)]) "
        "where y in 0:7, x in 0:7",
        {{"dY", array({2, 48, 7, 7})}, {"X", array({2, 64, 7, 7})}, {"V", array({48, 64, 3, 3})}},
        1 << 16));
}

TEST_CASE("few results, or those of sums that take far longer, are scattered") {
    CHECK(
        !are_copied(kernel_gradient, {{"dY", array({2, 4, 7, 7})}, {"X", array({2, 4, 7, 7})}}));
    CHECK(!are_copied("C[i,j] := A[i,k]*B[k,j]", {{"A", array({64, 99})}, {"B", array({99, 64})}}));
}

}  // namespace
}  // namespace ricci::tests
