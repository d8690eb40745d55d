// tests/codegen_cuda/programs_test.cpp – kernels of well-known programs, compiled for two GPUs
#include <algorithm>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "tests/codegen_cuda/nvrtc_check.h"

namespace ricci::tests {
namespace {

ArgumentSpec f32(Shape shape) {
    return {.dtype = DType::f32, .shape = std::move(shape), .strides = {}, .value = {}};
}
ArgumentSpec f64(Shape shape) {
    return {.dtype = DType::f64, .shape = std::move(shape), .strides = {}, .value = {}};
}

TEST_CASE("pointwise kernels compile without spills") {
    if (!has_nvrtc()) return;
    check_gradients_compile("Y[i,j] := relu(X[i,j]) + b[j]",
                            {{"X", f32({128, 1000})}, {"b", f32({1000})}});
    check_gradients_compile("Y[i,j] := tanh(X[i,j]) * sigmoid(Z[i,j])",
                            {{"X", f64({100, 33})}, {"Z", f64({100, 33})}});
    check_gradients_compile("Y[i] := gelu(X[i]) + softplus(X[i]) + X[i]^3",
                            {{"X", f32({100'000})}});
    check_compiles("m[i] = 0.9*m[i] + 0.1*g[i]; p[i] -= 0.001*m[i]",
                   {{"m", f32({1001})}, {"g", f32({1001})}, {"p", f32({1001})}});
}

TEST_CASE("atomic sums of every type that has them compile, whatever they add") {
    if (!has_nvrtc()) return;
    const auto check = [](const std::string& text, const Signature& given) {
        INFO(text);
        const Program whole = canonicalise(parse_program(text));
        Signature needed;
        for (const TensorId id : whole.arguments)
            needed.emplace(whole.at(id).name, given.at(whole.at(id).name));
        const BoundProgram program = ricci::bind(whole, needed);
        for (const int capability : {80, 90}) {
            Target target = gpu_target(capability);
            target.gpu.has_fast_gathers = true;
            const codegen::Plan plan = codegen::plan(program, target);
            CHECK(std::ranges::any_of(plan.nests, [](const codegen::Nest& nest) {
                return str(nest).find("# atomic") != std::string::npos;
            }));
            check_compiles(plan.nests, capability);
        }
    };
    const auto array = [](Shape shape, DType dtype) {
        return ArgumentSpec{.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
    };
    const ArgumentSpec keys = array({1 << 20}, DType::i32);
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
        const Signature given{{"H", array({1 << 16, 8}, dtype)},
                              {"h", array({1 << 16}, dtype)},
                              {"J", keys},
                              {"X", array({1 << 20, 8}, dtype)}};
        check("H[wrap(J[i]),k] += X[i,k]", given);
        check("h[wrap(J[i])] -= X[i,3]", given);
        check("h[wrap(J[i])] += 1", given);
        check("h[wrap(J[i])] += i", given);
        check("h[wrap(J[i])] += J[i] > 3 ? 1 : 0", given);
    }
    check("m[t] := mean[i | J[i] == t](x[i]) where t in 0:1000",
          {{"J", keys}, {"x", array({1 << 20}, DType::f32)}});
}

TEST_CASE("transpositions compile without spills") {
    if (!has_nvrtc()) return;
    check_gradients_compile("B[i,j] := A[j,i]", {{"A", f32({1000, 200})}});
    check_gradients_compile("B[k,j,i] := A[i,j,k]", {{"A", f64({30, 20, 50})}});
    check_gradients_compile("B[i,j] := A[j,i] + 2*A[i,j]", {{"A", f32({127, 127})}});
}

TEST_CASE("row reductions compile without spills") {
    if (!has_nvrtc()) return;
    check_gradients_compile("s[i] := A[i,k]", {{"A", f32({100, 5000})}});
    check_gradients_compile("s := A[i,j]^2", {{"A", f64({1000, 777})}});
    check_gradients_compile("m[i] := max[k](A[i,k])", {{"A", f32({100, 300})}});
    check_gradients_compile("m[i] := mean[k](A[i,k])", {{"A", f32({7, 31})}});
    check_gradients_compile("p[i] := prod[k](A[i,k])", {{"A", f32({64, 16})}});
    check_compiles("p[i] := argmax[k](A[i,k])", {{"A", f32({100, 1000})}});
    check_gradients_compile(
        "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
        {{"X", f32({128, 1000})}});
    check_gradients_compile(
        "Y[i,j] := (X[i,j] - mean[k](X[i,k])) / "
        "sqrt(mean[k]((X[i,k] - mean[l](X[i,l]))^2) + 0.00001)*g[j] + b[j]",
        {{"X", f32({64, 256})}, {"g", f32({256})}, {"b", f32({256})}});
}

TEST_CASE("strided reductions compile without spills") {
    if (!has_nvrtc()) return;
    check_gradients_compile("db[o] := dY[n,o]", {{"dY", f32({1024, 1000})}});
    check_gradients_compile("m[o] := max[n](A[n,o])", {{"A", f64({1000, 33})}});
    check_gradients_compile("t := A[i,i]", {{"A", f32({500, 500})}});
    check_gradients_compile("v[c] := mean[n,h,w](X[n,c,h,w])", {{"X", f32({8, 16, 20, 20})}});
}

TEST_CASE("contractions compile without spills") {
    if (!has_nvrtc()) return;
    check_gradients_compile("Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
                            {{"W", f32({256, 784})}, {"X", f32({100, 784})}, {"b", f32({256})}});
    check_gradients_compile("C[i,j] := A[i,k]*B[k,j]",
                            {{"A", f64({500, 300})}, {"B", f64({300, 700})}});
    check_gradients_compile("D[i,j] := (w[k,i] - x[k,j])^2",
                            {{"w", f32({784, 1024})}, {"x", f32({784, 1024})}});
    check_compiles("D[i,j] := min[k](A[i,k] + B[k,j])",
                   {{"A", f32({256, 256})}, {"B", f32({256, 256})}});
    check_gradients_compile("C[b,i,j] := A[b,i,k]*B[b,j,k]",
                            {{"A", f32({16, 128, 64})}, {"B", f32({16, 128, 64})}});
    check_gradients_compile("y[i] := A[i,k]*x[k]", {{"A", f32({1000, 1000})}, {"x", f32({1000})}});
}

TEST_CASE("convolutions compile without spills") {
    if (!has_nvrtc()) return;
    check_gradients_compile("O[x] := A[x+r]*F[r]", {{"A", f32({10'000})}, {"F", f32({7})}});
    check_gradients_compile("O[n,o,y,x] := I[n,c,y+r,x+s]*F[o,c,r,s]",
                            {{"I", f32({4, 16, 20, 20})}, {"F", f32({32, 16, 3, 3})}});
    check_gradients_compile("O[n,o,y] := I[n,c,2*y+r]*F[o,c,r]",
                            {{"I", f64({4, 8, 101})}, {"F", f64({16, 8, 3})}});
}

}  // namespace
}  // namespace ricci::tests
