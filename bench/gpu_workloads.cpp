// bench/gpu_workloads.cpp – products, distances, convolutions, rows, passes over memory, gathers
#include "bench/gpu_workloads.h"

#include <cstdint>
#include <utility>

namespace bench {
namespace {

using namespace ricci;

Array normal(Shape shape, std::uint64_t seed, DType dtype = DType::f32) {
    return Array::randn(dtype, std::move(shape), seed);
}
Array places(std::int64_t count, std::int64_t below) {
    return Array::randint(DType::i32, {count}, 0, below, 7);
}

constexpr const char* linear = "Y[n,o] := W[o,k]*X[n,k] + b[o]";
constexpr const char* softmax =
    "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))";
constexpr const char* layer_norm =
    "m[i] := mean[j](X[i,j])\n"
    "v[i] := mean[j]((X[i,j] - m[i])^2)\n"
    "Y[i,j] := (X[i,j] - m[i]) / sqrt(v[i] + 1e-5) * g[j] + b[j]";
constexpr const char* convolution = "Y[n,o,y,x] := A[n,c,y+r,x+s]*F[o,c,r,s]";
constexpr const char* attention =
    "P[b,i,j] := Q[b,i,d]*K[b,j,d]/8\n"
    "m[b,i] := max[j](P[b,i,j])\n"
    "Z[b,i] := exp(P[b,i,j] - m[b,i])\n"
    "O[b,i,d] := exp(P[b,i,j] - m[b,i])/Z[b,i]*V[b,j,d]";

void add_products(std::vector<GpuWorkload>& all) {
    all.push_back(
        {"linear 4096^3",
         linear,
         {{"W", normal({4096, 4096}, 1)}, {"X", normal({4096, 4096}, 2)}, {"b", normal({4096}, 3)}},
         {"W", "X", "b"}});
    all.push_back(
        {"linear 1024x784x1024",
         linear,
         {{"W", normal({1024, 784}, 1)}, {"X", normal({1024, 784}, 2)}, {"b", normal({1024}, 3)}},
         {"W", "X", "b"}});
    all.push_back(
        {"linear 64x784x256",
         linear,
         {{"W", normal({256, 784}, 1)}, {"X", normal({64, 784}, 2)}, {"b", normal({256}, 3)}},
         {"W", "X"}});
    all.push_back({"batched 256 of 128^3",
                   "C[b,i,j] := A[b,i,k]*B[b,k,j]",
                   {{"A", normal({256, 128, 128}, 1)}, {"B", normal({256, 128, 128}, 2)}},
                   {}});
    for (const std::int64_t side : {256, 1024, 4096}) {
        const std::string size = std::to_string(side) + "^3";
        for (const DType dtype : {DType::f32, DType::f64})
            all.push_back(
                {(dtype == DType::f32 ? "product " : "product f64 ") + size,
                 "C[i,j] := A[i,k]*B[k,j]",
                 {{"A", normal({side, side}, 1, dtype)}, {"B", normal({side, side}, 2, dtype)}},
                 {}});
    }
    all.push_back({"vector 8192^2",
                   "y[i] := A[i,k]*x[k]",
                   {{"A", normal({8192, 8192}, 1)}, {"x", normal({8192}, 2)}},
                   {"x"}});
    all.push_back({"distance 2048x2048x512",
                   "D[i,j] := (w[k,i] - x[k,j])^2",
                   {{"w", normal({512, 2048}, 1)}, {"x", normal({512, 2048}, 2)}},
                   {"w", "x"}});
    all.push_back({"tropical 2048x2048x512",
                   "D[i,j] := max[k](w[k,i] + x[k,j])",
                   {{"w", normal({512, 2048}, 1)}, {"x", normal({512, 2048}, 2)}},
                   {}});
    all.push_back(
        {"Gaussian sum 32768x32768x3",
         "y[i] := exp(-sum[d]((X[i,d] - Z[j,d])^2))*b[j]",
         {{"X", normal({32768, 3}, 1)}, {"Z", normal({32768, 3}, 2)}, {"b", normal({32768}, 3)}},
         {}});
    all.push_back({"attention 64x1024x64",
                   attention,
                   {{"Q", normal({64, 1024, 64}, 1)},
                    {"K", normal({64, 1024, 64}, 2)},
                    {"V", normal({64, 1024, 64}, 3)}},
                   {"Q", "V"}});
}

void add_convolutions(std::vector<GpuWorkload>& all) {
    const auto add = [&](const char* name, const char* text, Shape input, Shape filter) {
        all.push_back({name,
                       text,
                       {{"A", normal(std::move(input), 1)}, {"F", normal(std::move(filter), 2)}},
                       {"A", "F"}});
    };
    add("convolution 64->64 3x3, 64 of 56x56", convolution, {64, 64, 58, 58}, {64, 64, 3, 3});
    add("convolution 128->128 3x3, 64 of 28x28", convolution, {64, 128, 30, 30}, {128, 128, 3, 3});
    add("convolution 512->512 3x3, 64 of 7x7", convolution, {64, 512, 9, 9}, {512, 512, 3, 3});
    add("convolution 128->256 3x3 stride 2, 64 of 28x28",
        "Y[n,o,y,x] := A[n,c,pad(2*y+r-1,1),pad(2*x+s-1,1)]*F[o,c,r,s]", {64, 128, 28, 28},
        {256, 128, 3, 3});
    add("convolution 3->64 7x7 stride 2, 64 of 224x224",
        "Y[n,o,y,x] := A[n,c,pad(2*y+r-3,3),pad(2*x+s-3,3)]*F[o,c,r,s]", {64, 3, 224, 224},
        {64, 3, 7, 7});
    add("convolution 64->256 1x1, 64 of 56x56", "Y[n,o,y,x] := A[n,c,y,x]*F[o,c]", {64, 64, 56, 56},
        {256, 64});
    all.push_back({"convolution f64 128->128 3x3, 64 of 28x28",
                   convolution,
                   {{"A", normal({64, 128, 30, 30}, 1, DType::f64)},
                    {"F", normal({128, 128, 3, 3}, 2, DType::f64)}},
                   {"A", "F"}});
    add("convolution depthwise 256 3x3, 64 of 28x28", "Y[n,c,y,x] := A[n,c,y+r,x+s]*F[c,r,s]",
        {64, 256, 30, 30}, {256, 3, 3});
}

void add_passes(std::vector<GpuWorkload>& all) {
    all.push_back({"bias 32768x1024",
                   "Y[n,o] := X[n,o] + b[o]",
                   {{"X", normal({32768, 1024}, 1)}, {"b", normal({1024}, 2)}},
                   {"b"}});
    all.push_back({"bias of channels 64x256x56x56",
                   "Y[n,c,y,x] := X[n,c,y,x] + b[c]",
                   {{"X", normal({64, 256, 56, 56}, 1)}, {"b", normal({256}, 2)}},
                   {"b"}});
    for (const auto& [rows, columns] : {std::pair{32768, 1024}, {524288, 64}, {2048, 16384}}) {
        const std::string size = std::to_string(rows) + "x" + std::to_string(columns);
        all.push_back({"softmax " + size, softmax, {{"X", normal({rows, columns}, 1)}}, {"X"}});
        all.push_back({"layer norm " + size,
                       layer_norm,
                       {{"X", normal({rows, columns}, 1)},
                        {"g", normal({columns}, 2)},
                        {"b", normal({columns}, 3)}},
                       {"X", "g"}});
    }
    const Array large = normal({std::int64_t(1) << 27}, 1);
    all.push_back({"sum 2^27", "s := x[i]", {{"x", large}}, {"x"}});
    all.push_back({"tanh 2^27", "y[i] := tanh(0.5*x[i] + 0.25)", {{"x", large}}, {"x"}});
    all.push_back({"transpose 8192^2", "y[j,i] := x[i,j]", {{"x", normal({8192, 8192}, 1)}}, {}});
    all.push_back({"NCHW to NHWC 64x256x56x56",
                   "y[n,h,w,c] := x[n,c,h,w]",
                   {{"x", normal({64, 256, 56, 56}, 1)}},
                   {}});
    all.push_back({"rows gathered 2^20 of 50000x64",
                   "Y[n,d] := E[J[n],d]",
                   {{"E", normal({50000, 64}, 1)}, {"J", places(1 << 20, 50000)}},
                   {"E"}});
    all.push_back({"histogram 2^24 of 1000",
                   "h[J[n]] += 1",
                   {{"h", normal({1000}, 1)}, {"J", places(1 << 24, 1000)}},
                   {}});
}

}  // namespace

std::vector<GpuWorkload> gpu_workloads() {
    std::vector<GpuWorkload> all;
    add_products(all);
    add_convolutions(all);
    add_passes(all);
    return all;
}

}  // namespace bench
