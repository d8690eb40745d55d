// tests/codegen/kernel_work_test.cpp – operations and bytes of kernels
#include "codegen/kernel_work.h"

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

std::vector<codegen::Schedule> schedules(const std::string& text, const Signature& signature) {
    return codegen::plan(ricci::tests::bound(text, signature), example_target(64)).schedules;
}

/// Of a program that is one kernel.
Work work(const std::string& text, const Signature& signature) {
    const auto all = schedules(text, signature);
    REQUIRE(all.size() == 1);
    return all[0].work;
}

}  // namespace

TEST_CASE("a product multiplies and adds at every point") {
    const auto all =
        schedules("C[i,j] := A[i,k]*B[k,j]", {{"A", array({64, 80})}, {"B", array({80, 96})}});
    const Work& product = all.back().work;
    CHECK(product.operations == 2 * 64 * 80 * 96);
    CHECK(product.bytes == 4 * (64 * 80 + 80 * 96 + 64 * 96));
    for (const codegen::Schedule& schedule : all)  // panels are copies
        if (&schedule != &all.back()) CHECK(schedule.work.operations == 0);
}

TEST_CASE("a row that all rows share is read once") {
    const Work sum = work("Y[n,o] := X[n,o] + b[o]", {{"X", array({30, 50})}, {"b", array({50})}});
    CHECK(sum.operations == 30 * 50);
    CHECK(sum.bytes == 4 * (2 * 30 * 50 + 50));
}

TEST_CASE("a chain reads and computes once what its stages share") {
    const Work softmax =
        work("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
             {{"X", array({128, 100})}});
    CHECK(softmax.operations == 5 * 128 * 100);  // max, subtraction, exponential, sum, quotient
    CHECK(softmax.bytes == 2 * 4 * 128 * 100);
}

TEST_CASE("a convolution reads its elements once, those of the padding not at all") {
    const Signature signature = {{"X", array({20, 31})}, {"F", array({3, 3})}};
    const Work inside = work("Y[y,x] := X[y+r,2*x+s]*F[r,s]", signature);
    CHECK(inside.operations == 2 * 18 * 15 * 9);
    CHECK(inside.bytes == 4 * (20 * 31 + 9 + 18 * 15));
    double padded = 0;  // a core and borders
    for (const codegen::Schedule& schedule :
         schedules("Y[x] := sum[k | x+k >= 3 && x+k < 103](A[x+k-3]*G[k]) where x in 0:100",
                   {{"A", array({100})}, {"G", array({7})}}))
        padded += schedule.work.operations;
    CHECK(padded == 2 * (700 - 2 * (1 + 2 + 3)));
}

TEST_CASE("a transposition has no operations") {
    const Work transposed = work("B[i,j] := A[j,i]", {{"A", array({100, 200})}});
    CHECK(transposed.operations == 0);
    CHECK(transposed.bytes == 2 * 4 * 100 * 200);
}

TEST_CASE("an update reads what it writes, and integers are no floating operations") {
    const Work step = work("p[i] -= 0.1*g[i]", {{"p", array({1000})}, {"g", array({1000})}});
    CHECK(step.operations == 2 * 1000);
    CHECK(step.bytes == 3 * 4 * 1000);
    const Work counts = work("n[i] := K[i]*K[i]", {{"K", array({40}, DType::i64)}});
    CHECK(counts.operations == 0);
    CHECK(counts.bytes == 2 * 8 * 40);
}

TEST_CASE("neighbours share elements, views leave some out") {
    CHECK(work("y[i] := x[i] + x[i+1] + x[i+2]", {{"x", array({102})}}).bytes == 4 * (102 + 100));
    CHECK(work("y[i] := x[3*i]", {{"x", array({100})}}).bytes == 4 * (34 + 34));
}

TEST_CASE("only the points of which conditions hold count") {
    const Signature square = {{"A", array({50, 50})}};
    CHECK(work("y[i] := sum[j | j <= i](A[i,j])", square).operations == 50 * 51 / 2);
    CHECK(work("y[i] := sum[j,k | i == 2*j+7*k](A[i,j]*A[i,k])", square).operations == 208);
}
