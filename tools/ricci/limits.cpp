// tools/ricci/limits.cpp – a loop of multiply-adds, a loop of copies
#include "tools/ricci/limits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/array.h"

namespace ricci::tool {
namespace {

using Clock = std::chrono::steady_clock;

// Independent sums, enough to hide the latency of two units of four cycles, and few enough that
// they and two factors fit into sixteen registers of any width.
constexpr int chains = 12;
constexpr int steps = 2000;

/// Sums of vectors of so many bytes, one after the other.
template <int bytes, class Element>
inline __attribute__((always_inline)) void multiply_add(Element* sums) {
    typedef Element Lanes __attribute__((vector_size(bytes)));
    const Lanes a = Lanes{} + static_cast<Element>(0.999);
    const Lanes b = Lanes{} + static_cast<Element>(0.001);
    Lanes local[chains];
    std::memcpy(local, sums, sizeof local);
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) local[c] = local[c] * a + b;
    std::memcpy(sums, local, sizeof local);
}

/// The loop for one width of vectors.
template <class Element>
struct Step {
    int bytes = 16;
    void (*run)(Element* sums) = multiply_add<16, Element>;
};

#ifdef __x86_64__
#define RICCI_EVERY_WIDTH \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
template <class Element>
__attribute__((target("arch=x86-64-v4"))) void step_avx512(Element* sums) {
    multiply_add<64>(sums);
}
template <class Element>
__attribute__((target("arch=x86-64-v3"))) void step_avx2(Element* sums) {
    multiply_add<32>(sums);
}
/// Of the widest vectors that the processor has.
template <class Element>
Step<Element> widest_step() {
    if (__builtin_cpu_supports("x86-64-v4")) return {64, step_avx512<Element>};
    if (__builtin_cpu_supports("x86-64-v3")) return {32, step_avx2<Element>};
    return {};
}
#else
#define RICCI_EVERY_WIDTH
template <class Element>
Step<Element> widest_step() {
    return {};
}
#endif

typedef double Doubles __attribute__((vector_size(64)));
RICCI_EVERY_WIDTH void copy(Doubles* to, const Doubles* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

/// Repeats `step` on every thread for a while; the sum of their rates, in `units` a second.
double rate(int threads, double units, const std::function<void(std::size_t)>& step) {
    constexpr double seconds = 0.06;
    std::vector<double> rates(static_cast<std::size_t>(threads));
    const auto work = [&](std::size_t thread) {
        step(thread);  // warm
        const auto begin = Clock::now();
        double elapsed = 0;
        double done = 0;
        while (elapsed < seconds) {
            step(thread);
            done += units;
            elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
        }
        rates[thread] = done / elapsed;
    };
    std::vector<std::thread> others;
    for (std::size_t thread = 1; thread < rates.size(); ++thread) others.emplace_back(work, thread);
    work(0);
    for (std::thread& other : others) other.join();
    return std::accumulate(rates.begin(), rates.end(), 0.0);
}

template <class Element>
double multiply_add_rate(int threads) {
    const Step<Element> step = widest_step<Element>();
    const double lanes = double(step.bytes) / sizeof(Element);
    constexpr std::size_t most = 64 / sizeof(Element) * chains;
    std::vector<std::array<Element, most>> sums(static_cast<std::size_t>(threads));
    return rate(threads, 2 * lanes * chains * steps,
                [&](std::size_t thread) { step.run(sums[thread].data()); });
}

double copy_rate(int threads) {
    constexpr std::int64_t bytes = std::int64_t{64} << 20;  // beyond every cache
    std::vector<Array> blocks;
    for (int i = 0; i < 2 * threads; ++i)
        blocks.push_back(
            Array::zeros(DType::f64, {bytes / static_cast<std::int64_t>(sizeof(double))}));
    return rate(threads, 2.0 * bytes, [&](std::size_t thread) {
        copy(static_cast<Doubles*>(blocks[2 * thread].data()),
             static_cast<const Doubles*>(blocks[2 * thread + 1].data()), bytes / sizeof(Doubles));
    });
}

}  // namespace

Limits measure_limits(DType dtype, int threads) {
    return {.flops = dtype == DType::f64 ? multiply_add_rate<double>(threads)
                                         : multiply_add_rate<float>(threads),
            .bytes_per_second = copy_rate(threads)};
}

}  // namespace ricci::tool
