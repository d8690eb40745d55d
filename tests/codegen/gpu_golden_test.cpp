// tests/codegen/gpu_golden_test.cpp – schedules and nests of well-known programs on a GPU
#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/golden.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

void check(const std::string& name, const std::string& text, const Signature& signature) {
    const codegen::Plan plan = codegen::plan(bound(text, signature), example_gpu_target());
    check_golden("gpu/" + name, text + "\n\n" + str(plan));
}

}  // namespace

TEST_CASE("a large pass over memory takes vectors, several at once, in strides of the grid") {
    check("bias_activation", "Y[i,j] := relu(X[i,j]) + b[j]",
          {{"X", array({8192, 4096})}, {"b", array({4096})}});
}
TEST_CASE("what is left of a vector goes element by element") {
    check("axpy", "z[i] := a*x[i] + y[i]",
          {{"a", array({})}, {"x", array({1001})}, {"y", array({1001})}});
}
TEST_CASE("rows that are not aligned are read element by element") {
    check("unaligned", "Y[i,j] := X[i,j+1] - X[i,j]", {{"X", array({100, 1001})}});
}
TEST_CASE("a transposition goes through shared memory") {
    check("transposition", "B[i,j] := A[j,i]", {{"A", array({1000, 512})}});
}
TEST_CASE("three channels are moved without shared memory") {
    check("channels", "Y[n,c] := X[c,n]", {{"X", array({3, 10000})}});
}
TEST_CASE("an optimiser's step on a GPU") {
    check("momentum", "m[i] = 0.9*m[i] + 0.1*g[i]; p[i] -= 0.001*m[i]",
          {{"m", array({1000})}, {"g", array({1000})}, {"p", array({1000})}});
}
TEST_CASE("writes that may meet follow each other in one thread") {
    check("colliding", "O[j,i+k] += x[i]*w[k]",
          {{"O", array({500, 26})}, {"x", array({10})}, {"w", array({4})}});
}
TEST_CASE("short rows share a warp") {
    check("short_rows", "y[i] := A[i,k]", {{"A", array({100000, 64})}});
}
TEST_CASE("a long row takes a block") {
    check("long_rows", "y[i] := sum[k](abs(A[i,k]))", {{"A", array({1000, 4096})}});
}
TEST_CASE("the places of the largest elements") {
    check("argmax", "p[i] := argmax[k](A[i,k])", {{"A", array({128, 1000})}});
}
TEST_CASE("column sums take rows of threads, and chunks that a second kernel adds") {
    check("bias_gradient", "db[o] := dY[n,o]", {{"dY", array({8192, 1024})}});
}
TEST_CASE("a full sum in two levels on a GPU") {
    check("full_sum", "s := sum[i,j](abs(A[i,j]))", {{"A", array({4096, 1024})}});
}
TEST_CASE("the sum over all but the channels runs along the images") {
    check("channel_sum", "db[c] := dY[n,c,h,w]", {{"dY", array({32, 64, 28, 28})}});
}
TEST_CASE("a causal sum has bounds that move with the row") {
    check("causal", "S[i] := sum[k | k <= i](A[i,k])", {{"A", array({500, 500})}});
}
TEST_CASE("a softmax is one kernel that keeps its rows in registers") {
    check("softmax",
          "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
          {{"X", array({8192, 1024})}});
}
TEST_CASE("what a row's stages pass on stays in registers, unless rows are longer than these") {
    const auto steps = [](std::int64_t columns) {
        const char* text =
            "m[i] := max[k](X[i,k]); S[i,j] := exp(X[i,j] - m[i])/sum[k](exp(X[i,k] - m[i])); "
            "dX[i,j] := (dS[i,j] - sum[k](dS[i,k]*S[i,k]))*S[i,j]";
        const Signature signature = {{"X", array({8192, columns})}, {"dS", array({8192, columns})}};
        return codegen::plan(bound(text, signature), example_gpu_target()).steps.size();
    };
    CHECK(steps(1024) == 1);
    CHECK(steps(65'536) == 2);
}
TEST_CASE("a layer norm with long rows is one kernel of a block a row") {
    check("layer_norm",
          "m[i] := mean[k](X[i,k]); v[i] := mean[k]((X[i,k]-m[i])^2);"
          "Y[i,j] := (X[i,j]-m[i])*rsqrt(v[i]+0.00001)*g[j]+b[j]",
          {{"X", array({4096, 3000})}, {"g", array({3000})}, {"b", array({3000})}});
}
