// tests/codegen_cuda/contraction_test.cpp – the instructions of contractions, counted in cubins
//
// An FFMA a clock and scheduler is what a multiprocessor can do: the share of arithmetic in the
// main loop is the ceiling of a contraction's rate. A hand-written kernel of the same tile, two
// blocks on a multiprocessor, has 0.919 of it; the goals here are what the generated ones keep to.
#include <algorithm>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen_cuda/nvrtc_check.h"

namespace ricci::tests {
namespace {

ArgumentSpec f32(Shape shape) {
    return {.dtype = DType::f32, .shape = std::move(shape), .strides = {}, .value = {}};
}
/// As many tiles of 128 x 128 as are a whole number of waves on 108 and on 132 multiprocessors.
constexpr std::int64_t rows = 33 * 128;
constexpr std::int64_t columns = 36 * 128;
constexpr std::int64_t depth = 4096;
const Signature matrices = {{"A", f32({rows, depth})}, {"B", f32({depth, columns})}};
const Signature transposed = {{"A", f32({depth, rows})}, {"B", f32({columns, depth})}};
Signature matrices_of(bool is_a_transposed, bool is_b_transposed) {
    return {*(is_a_transposed ? transposed : matrices).find("A"),
            *(is_b_transposed ? transposed : matrices).find("B")};
}

/// Of the main loop's instructions, those of these names.
double share(const CompiledKernel& kernel, const std::vector<std::string>& names) {
    std::int64_t counted = 0;
    for (const std::string& name : names) counted += cuda::count(kernel.main_loop, name);
    return double(counted) / double(std::max<std::int64_t>(1, cuda::total(kernel.main_loop)));
}

/// The main loop's instructions, `FFMA 1024 LDS.128 64 …`.
std::string mix(const CompiledKernel& kernel) {
    std::string text;
    for (const auto& [name, number] : kernel.main_loop) text += format("{} {} ", name, number);
    return text;
}

/// The kernel of the tiles: the one with the most instructions in its main loop.
std::vector<CompiledKernel> tiles(const std::string& text, const Signature& signature) {
    std::vector<CompiledKernel> largest;
    for (CompiledKernel& kernel : compile_for_gpus(text, signature)) {
        const auto same =
            std::ranges::find(largest, kernel.capability, &CompiledKernel::capability);
        if (same == largest.end())
            largest.push_back(std::move(kernel));
        else if (cuda::total(kernel.main_loop) > cuda::total(same->main_loop))
            *same = std::move(kernel);
    }
    return largest;
}

/// Two blocks on a multiprocessor, nothing spilled, shared memory read by vectors alone.
void check_tile(const CompiledKernel& kernel) {
    CAPTURE(kernel.name);
    CAPTURE(kernel.capability);
    CHECK(kernel.threads == 256);
    CHECK(kernel.resources.registers <= 128);
    CHECK(kernel.resources.spill_bytes == 0);
    CHECK(cuda::count(kernel.main_loop, "LDS.128") == 64);
    CHECK(cuda::count(kernel.main_loop, "LDL") == 0);
    CHECK(cuda::count(kernel.main_loop, "STL") == 0);
}

TEST_CASE("the loop of a matrix product is multiplications, however the matrices lie") {
    if (!has_nvrtc()) return;
    for (const int form : {0, 1, 2, 3}) {
        const bool is_a = form % 2 == 1;
        const bool is_b = form / 2 == 1;
        const std::string text =
            format("C[i,j] := {}*{}", is_a ? "A[k,i]" : "A[i,k]", is_b ? "B[j,k]" : "B[k,j]");
        for (const CompiledKernel& kernel : tiles(text, matrices_of(is_a, is_b))) {
            CAPTURE(text);
            CAPTURE(mix(kernel));
            check_tile(kernel);
            CHECK(cuda::count(kernel.main_loop, "FFMA") == 1024);
            CHECK(share(kernel, {"FFMA"}) >= 0.895);
        }
    }
}

TEST_CASE("the loop of squared distances is differences and multiplications") {
    if (!has_nvrtc()) return;
    for (const CompiledKernel& kernel :
         tiles("D[i,j] := (A[k,i] - B[k,j])^2", matrices_of(true, false))) {
        check_tile(kernel);
        CHECK(cuda::count(kernel.main_loop, "FADD") == 1024);
        CHECK(cuda::count(kernel.main_loop, "FFMA") == 1024);
        CHECK(share(kernel, {"FADD", "FFMA"}) >= 0.94);
    }
}

TEST_CASE("the loop of a tropical product is sums and minima") {
    if (!has_nvrtc()) return;
    for (const CompiledKernel& kernel : tiles("C[i,j] := min[k](A[i,k] + B[k,j])", matrices)) {
        CAPTURE(mix(kernel));
        CHECK(share(kernel, {"FADD", "FMNMX"}) >= 0.90);
    }
}

TEST_CASE("a convolution and its gradients keep most of the loop to multiplications") {
    if (!has_nvrtc()) return;
    const auto x = std::pair("X", f32({32, 64, 34, 34}));
    const auto dy = std::pair("dY", f32({32, 64, 32, 32}));
    const auto w = std::pair("W", f32({64, 64, 3, 3}));
    for (const CompiledKernel& kernel : tiles("Y[n,o,p,q] := X[n,c,p+r,q+s]*W[o,c,r,s]", {x, w}))
        CHECK(share(kernel, {"FFMA"}) >= 0.78);
    for (const CompiledKernel& kernel :
         tiles("dX[n,c,t,u] := sum[o,r,s | t-r >= 0 && t-r < 32 && u-s >= 0 && u-s < 32]"
               "(dY[n,o,t-r,u-s]*W[o,c,r,s]) where t in 0:34, u in 0:34",
               {dy, w}))
        CHECK(share(kernel, {"FFMA"}) >= 0.70);
    for (const CompiledKernel& kernel :
         tiles("dW[o,c,r,s] := dY[n,o,p,q]*X[n,c,p+r,q+s] where r in 0:3, s in 0:3", {x, dy}))
        CHECK(share(kernel, {"FFMA"}) >= 0.65);
}

TEST_CASE("contractions of every kind compile without spills") {
    if (!has_nvrtc()) return;
    for (const std::int64_t n : {1024, 777}) {
        const Signature sizes = {{"A", f32({n, n})}, {"B", f32({n, n})}};
        check_compiles("C[i,j] := sum[k](exp(-abs2(A[i,k] - B[j,k])))", sizes);
        check_compiles("C[i,j] := prod[k](A[k,i] - 0.5*B[k,j])", sizes);
        check_compiles("C[i,j] := sum[k | k <= i](A[i,k]*B[k,j])", sizes);
        check_compiles("C[i,j] := sum[k](exp(A[i,k])*B[j,k]*k)", sizes);
    }
    const auto f64 = [](Shape shape) {
        return ArgumentSpec{
            .dtype = DType::f64, .shape = std::move(shape), .strides = {}, .value = {}};
    };
    const Signature sizes = {{"A", f64({1024, 1024})}, {"B", f64({1024, 1024})}};
    check_compiles("C[i,j] := A[i,k]*B[k,j]", sizes);
    check_compiles("C[i,j] := (A[k,i] - B[k,j])^2", sizes);
    check_compiles("C[i,j] := sum[k](exp(-abs2(A[i,k] - B[k,j])))", sizes);
    check_compiles("dw[k,i] := 2*(w[k,i] - x[k,j])*dD[i,j]",
                   {{"w", f64({784, 1024})}, {"x", f64({784, 1024})}, {"dD", f64({1024, 1024})}});
}

}  // namespace
}  // namespace ricci::tests
