// tests/codegen/golden_test.cpp – schedules and loop nests of well-known programs
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "dsl/canonical.h"

using namespace ricci;

namespace {

const Target avx512{
    .cpu = "test", .features = "", .vector_bytes = 64, .vector_registers = 32, .has_fma = true};

ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

codegen::Plan plan(const std::string& text, const Signature& signature,
                   const Target& target = avx512) {
    return codegen::plan(ricci::bind(canonicalise(parse_program(text)), signature), target);
}

void check(const std::string& name, const std::string& text, const Signature& signature,
           const Target& target = avx512) {
    tests::check_golden("nest/" + name, text + "\n\n" + str(plan(text, signature, target)));
}

}  // namespace

TEST_CASE("a linear layer with activation") {
    check("linear", "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
          {{"W", array({256, 784})}, {"X", array({100, 784})}, {"b", array({256})}});
}
TEST_CASE("a linear layer in bf16 where pairs are one instruction") {
    Target target = avx512;
    target.has_bf16_dot = true;
    check("linear_bf16", "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
          {{"W", array({80, 301}, DType::bf16)},
           {"X", array({100, 301}, DType::bf16)},
           {"b", array({80}, DType::bf16)}},
          target);
}
TEST_CASE("a linear layer in f32 from pieces of bf16 where tiles are multiplied") {
    Target target = avx512;
    target.has_bf16_tiles = true;
    target.precision = Precision::bf16x3;
    check("linear_bf16x3", "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
          {{"W", array({80, 301})}, {"X", array({100, 301})}, {"b", array({80})}}, target);
}
TEST_CASE("the gradient of a linear layer's weights") {
    check("linear_weights", "dW[o,k] := dY[n,o]*X[n,k]",
          {{"dY", array({128, 256})}, {"X", array({128, 784})}});
}
TEST_CASE("a thin product reads its operands where they stand") {
    check("thin_product", "Y[n,o] := W[k,o]*X[n,k]",
          {{"W", array({256, 10})}, {"X", array({14, 256})}});
}
TEST_CASE("squared distances") {
    check("distance", "D[i,j] := (w[k,i] - x[k,j])^2",
          {{"w", array({784, 1024})}, {"x", array({784, 1024})}});
}
TEST_CASE("the gradient of squared distances holds a term in registers") {
    check("distance_gradient", "dw[k,i] := 2*(w[k,i] - x[k,j])*dD[i,j]",
          {{"w", array({784, 1024})}, {"x", array({784, 1024})}, {"dD", array({1024, 1024})}});
}
TEST_CASE("softmax") {
    check("softmax",
          "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
          {{"X", array({128, 100})}});
}
TEST_CASE("the weight gradient of a convolution has lanes of output channels") {
    check("weight_gradient", "dW[o,c,r,s] := sum[n,y,x](dY[n,o,y,x]*X[n,c,y+r,x+s])",
          {{"X", array({2, 16, 30, 30})}, {"dY", array({2, 32, 28, 28})}});
}
TEST_CASE("a column sum") { check("column_sum", "db[o] := dY[n,o]", {{"dY", array({128, 256})}}); }
TEST_CASE("sums up to each point in squares of rows and points") {
    check("running_sums", "Y[b,t] := sum[s | s <= t](X[b,s]) where t in 0:100",
          {{"X", array({60, 100})}});
}
TEST_CASE("a full sum in two levels") {
    check("full_sum", "s := A[i,j]^2", {{"A", array({4096, 1024})}});
}
TEST_CASE("a transposition goes by squares") {
    check("transposition", "B[i,j] := A[j,i]", {{"A", array({100, 200})}});
}
TEST_CASE("a convolution") {
    check("convolution", "O[x] := A[x+r]*F[r]", {{"A", array({1000})}, {"F", array({7})}});
}
TEST_CASE("the gradient of a convolution has no guard in the loops of its core") {
    const std::string text =
        "dA[t] := sum[k | t-k >= 0 && t-k < size(dO,0)](dO[t-k]*F[k]) where t in 0:1000";
    const Signature signature = {{"dO", array({994})}, {"F", array({7})}};
    check("convolution_gradient", text, signature);
    const codegen::Plan parts = plan(text, signature);
    REQUIRE(parts.nests.size() == 3);
    CHECK(str(parts.nests[1]).find("if ") == std::string::npos);
}
TEST_CASE("gathered rows are asked for before they are read") {
    check("gathered_rows", "y[i,k] := A[J[i],k]",
          {{"A", array({5000, 100})}, {"J", array({4096}, DType::i32)}});
}
TEST_CASE("rows that points find are asked for before they are updated") {
    check("scattered_rows", "dA[t,k] := sum[i | J[i] == t](dy[i,k]) where t in 0:5000",
          {{"dy", array({4096, 100})}, {"J", array({4096}, DType::i32)}});
}
TEST_CASE("many updates of few elements are made in parts that check their keys") {
    check("segment_sums", "h[J[i]] += x[i]",
          {{"h", array({10})}, {"J", array({1 << 17}, DType::i32)}, {"x", array({1 << 17})}});
}
TEST_CASE("points of padded updates that exist are found in lanes") {
    check("padded_updates", "h[pad(J[i])] += exp(x[i])",
          {{"h", array({10})}, {"J", array({300}, DType::i32)}, {"x", array({300})}});
}
TEST_CASE("the place of the largest element") {
    check("argmax", "M[i] := argmax[k](A[i,k])", {{"A", array({10, 100})}});
}
TEST_CASE("an optimiser's step updates in place") {
    check("momentum", "m[i] = 0.9*m[i] + 0.1*g[i]; p[i] -= 0.001*m[i]",
          {{"m", array({1000})}, {"g", array({1000})}, {"p", array({1000})}});
}
TEST_CASE("a diagonal starts from zeros") {
    check("diagonal", "D[i,i] := a[i]", {{"a", array({20})}});
}
