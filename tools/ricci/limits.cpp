// tools/ricci/limits.cpp – a loop of multiply-adds, a loop of copies
#include "tools/ricci/limits.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/array.h"

namespace ricci::tool {
namespace {

using Clock = std::chrono::steady_clock;

// Compiled for each of these; the loader takes the widest that the processor has.
#define RICCI_EVERY_WIDTH \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

typedef float Floats __attribute__((vector_size(64)));
typedef double Doubles __attribute__((vector_size(64)));

// Independent sums, enough to hide the latency of two units of four cycles.
constexpr int chains = 12;
constexpr int steps = 2000;

template <class Lanes>
inline __attribute__((always_inline)) void multiply_add(Lanes* sums, Lanes a, Lanes b) {
    Lanes local[chains];
    for (int c = 0; c < chains; ++c) local[c] = sums[c];
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) local[c] = local[c] * a + b;
    for (int c = 0; c < chains; ++c) sums[c] = local[c];
}

RICCI_EVERY_WIDTH void step_floats(Floats* sums, Floats a, Floats b) { multiply_add(sums, a, b); }
RICCI_EVERY_WIDTH void step_doubles(Doubles* sums, Doubles a, Doubles b) {
    multiply_add(sums, a, b);
}
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

/// The sums of one thread. (As a template argument a vector type would lose its alignment.)
template <class Lanes>
struct Sums {
    Lanes lanes[chains];
};

template <class Lanes, class Element>
double multiply_add_rate(int threads, void (*step)(Lanes*, Lanes, Lanes), Element) {
    const Lanes a = Lanes{} + static_cast<Element>(0.999);
    const Lanes b = Lanes{} + static_cast<Element>(0.001);
    std::vector<Sums<Lanes>> sums(static_cast<std::size_t>(threads), Sums<Lanes>{});
    constexpr double lanes = sizeof(Lanes) / sizeof(Element);
    return rate(threads, 2 * lanes * chains * steps,
                [&](std::size_t thread) { step(sums[thread].lanes, a, b); });
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
    return {.flops = dtype == DType::f64 ? multiply_add_rate(threads, &step_doubles, 0.0)
                                         : multiply_add_rate(threads, &step_floats, 0.0F),
            .bytes_per_second = copy_rate(threads)};
}

}  // namespace ricci::tool
