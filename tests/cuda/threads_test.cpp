// tests/cuda/threads_test.cpp – many threads, one GPU
#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/cuda/emulated_gpu.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

/// Runs `body(thread)` on some threads at once.
template <class Body>
void on_threads(int count, Body&& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
    for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a function may be called on the GPU from many threads") {
    const EmulatedGpu emulated(deferred(1));
    const Function f =
        compile("Y[i] := sum[j](A[i,j]*v[j]); Z[i] := sum[k](A[i,k]*Y[k]) + c", "f", Device::cuda);
    const Array A = Array::full(DType::f32, {6, 6}, 1);
    const Array v = Array::full(DType::f32, {6}, 2);
    std::atomic<int> wrong = 0;
    on_threads(4, [&](int thread) {
        for (int i = 0; i < 10; ++i) {
            const Array z = f({{"A", A}, {"v", v}, {"c", Array::full(DType::f32, {}, thread)}});
            if (z.at({3}) != 72 + thread) ++wrong;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("threads that read one array bring it over once") {
    const EmulatedGpu emulated(deferred(2));
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
    const Array x = Array::arange(DType::f32, {100'000});
    std::atomic<int> wrong = 0;
    on_threads(4, [&](int) {
        const Array y = twice(x);
        if (y.at({777}) != 1554 || x.at({777}) != 777) ++wrong;
    });
    CHECK(wrong == 0);
    CHECK(emulated.device.calls("cuMemcpyHtoDAsync_v2") == 1);
    const Array there = twice(x);
    const std::int64_t before = emulated.device.calls("cuMemcpyDtoHAsync_v2");
    on_threads(4, [&](int) {
        if (there.at({5}) != 10) ++wrong;
    });
    CHECK(wrong == 0);
    CHECK(emulated.device.calls("cuMemcpyDtoHAsync_v2") == before + 1);
}

TEST_CASE("arrays may go on another thread than they were made on") {
    const EmulatedGpu emulated(deferred(3));
    std::vector<Array> arrays;
    for (int i = 0; i < 20; ++i)
        arrays.push_back(Array::full(DType::f32, {50'000}, i).to(Device::cuda));
    on_threads(4, [&](int thread) {
        for (std::size_t i = static_cast<std::size_t>(thread); i < arrays.size(); i += 4)
            arrays[i] = {};
    });
    CHECK(cuda::Gpu::current()->memory().use().in_use_bytes == 0);
}

}  // namespace
}  // namespace ricci::tests
