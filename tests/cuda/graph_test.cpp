// tests/cuda/graph_test.cpp – runs that repeat are one launch; updates start whole or not at all
#include "runtime/cuda/graph.h"

#include <doctest/doctest.h>

#include "tests/cuda/emulated_gpu.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

/// Two kernels: the second needs all of the first's results.
const char* const two_kernels = "Y[i] := sum[j](A[i,j]*v[j]); Z[i] := sum[k](B[i,k]*Y[k])";

struct Calls {
    explicit Calls(const EmulatedGpu& gpu) : emulated(gpu) {}
    [[nodiscard]] std::int64_t launches() const { return now("cuLaunchKernel") - launches_; }
    [[nodiscard]] std::int64_t graphs() const { return now("cuGraphLaunch") - graphs_; }
    [[nodiscard]] std::int64_t captures() const {
        return now("cuGraphInstantiateWithFlags") - captures_;
    }
    [[nodiscard]] std::int64_t now(const char* name) const { return emulated.device.calls(name); }
    const EmulatedGpu& emulated;
    std::int64_t launches_ = now("cuLaunchKernel");
    std::int64_t graphs_ = now("cuGraphLaunch");
    std::int64_t captures_ = now("cuGraphInstantiateWithFlags");
};

TEST_CASE("a program of several kernels is captured when it repeats") {
    const EmulatedGpu emulated(deferred(1));
    const Function f = compile(two_kernels, "f", Device::cuda);
    const Array A = Array::randn(DType::f32, {8, 8}, 1);
    const Array B = Array::randn(DType::f32, {8, 8}, 2);
    const Array v = Array::randn(DType::f32, {8}, 3);
    const Array first = f(A, v, B);
    const Calls calls(emulated);
    for (int i = 0; i < 4; ++i) CHECK(f(A, v, B).at({5}) == first.at({5}));
    // `first` keeps its memory: the second run has a place of its own, which the others take again.
    CHECK(calls.captures() == 1);
    CHECK(calls.graphs() == 3);
    const std::int64_t launched = calls.launches();
    for (int i = 0; i < 10; ++i) (void)f(A, v, B);
    CHECK(calls.launches() == launched);
    CHECK(calls.graphs() == 13);
}

TEST_CASE("a program of one kernel is launched as it is") {
    const EmulatedGpu emulated;
    const Function f = compile("y[i] := 2*x[i]", "f", Device::cuda);
    const Array x = Array::arange(DType::f32, {10});
    for (int i = 0; i < 5; ++i) (void)f(x);
    CHECK(emulated.device.calls("cuGraphLaunch") == 0);
    CHECK(emulated.device.calls("cuLaunchKernel") == 5);
}

TEST_CASE("other addresses are another graph, and the least used ones go") {
    const EmulatedGpu emulated(deferred(2));
    const Function f = compile(two_kernels, "f", Device::cuda);
    const Array B = Array::randn(DType::f32, {8, 8}, 2);
    const Array v = Array::randn(DType::f32, {8}, 3);
    std::vector<Array> matrices;
    for (std::uint64_t i = 0; i < 40; ++i) matrices.push_back(Array::randn(DType::f32, {8, 8}, i));
    for (int round = 0; round < 2; ++round)
        for (const Array& A : matrices)
            for (int again = 0; again < 3; ++again) (void)f(A, v, B);
    CHECK(emulated.device.calls("cuGraphInstantiateWithFlags") == 80);
    CHECK(emulated.device.calls("cuGraphExecDestroy") >= 60);
}

TEST_CASE("what changes an argument before its last kernel starts as one graph") {
    const EmulatedGpu emulated(deferred(3));
    const Function f =
        compile("m[i] = m[i] + sum[j](A[i,j]); w[i] -= sum[k](A[k,i]*m[k])", "f", Device::cuda);
    const Array m = Array::full(DType::f32, {6}, 1);
    const Array w = Array::full(DType::f32, {6}, 2);
    const Array A = Array::full(DType::f32, {6, 6}, 1);
    const Calls calls(emulated);
    (void)f({{"m", m}, {"w", w}, {"A", A}});
    CHECK(calls.graphs() == 1);
    CHECK(m.at({0}) == 7);
    CHECK(w.at({0}) == 2 - 6 * 7);
}

}  // namespace
}  // namespace ricci::tests
