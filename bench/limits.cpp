// bench/limits.cpp – what the machine can do, measured by loops that do nothing else
#include "bench/limits.h"

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// 24 independent accumulators hide the latency of every core's two FMA units. GCC's vector type of
// 16 floats is one AVX-512 register, and two AVX2 registers where there is no AVX-512.
typedef float Lanes __attribute__((vector_size(64)));
constexpr int chains = 12;
constexpr int steps = 2000;

#define RICCI_BENCH_TARGETS \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

RICCI_BENCH_TARGETS void fma_steps(Lanes* sums, Lanes a, Lanes b) {
    Lanes s[chains];
    for (int c = 0; c < chains; ++c) s[c] = sums[c];
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) s[c] = s[c] * a + b;
    for (int c = 0; c < chains; ++c) sums[c] = s[c];
}

RICCI_BENCH_TARGETS void distance_steps(Lanes* sums, Lanes a, Lanes b) {
    Lanes s[chains];
    for (int c = 0; c < chains; ++c) s[c] = sums[c];
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) {
            const Lanes d = a - s[c];
            s[c] = d * b + s[c];
        }
    for (int c = 0; c < chains; ++c) sums[c] = s[c];
}

/// Operations a second of `step`, which does `operations` a call, on all threads together.
double rate(int threads, double seconds, double operations,
            const std::function<void(Lanes*)>& step) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    const auto work = [&](std::size_t t) {
        Lanes sums[chains] = {};
        step(sums);
        // Linux may take 15 ms to spread new threads over the cores.
        const auto spread = Clock::now() + std::chrono::milliseconds(threads > 1 ? 20 : 0);
        while (Clock::now() < spread) step(sums);
        double done = 0;
        const auto start = Clock::now();
        double elapsed = 0;
        while ((elapsed = std::chrono::duration<double>(Clock::now() - start).count()) < seconds) {
            for (int n = 0; n < 16; ++n) step(sums);
            done += 16 * operations;
        }
        volatile float keep = sums[0][0];
        (void)keep;
        rates[t] = done / elapsed;
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < rates.size(); ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& other : others) other.join();
    double total = 0;
    for (double r : rates) total += r;
    return total;
}

constexpr double lane_steps = static_cast<double>(sizeof(Lanes) / sizeof(float)) * chains * steps;

#ifdef __x86_64__
__attribute__((target("avx512bf16,avx512f"))) void bf16_steps(Lanes* sums, Lanes a, Lanes b) {
    Lanes s[chains];
    for (int c = 0; c < chains; ++c) s[c] = sums[c];
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c)
            s[c] = static_cast<Lanes>(_mm512_dpbf16_ps(static_cast<__m512>(s[c]),
                                                       reinterpret_cast<__m512bh>(a),
                                                       reinterpret_cast<__m512bh>(b)));
    for (int c = 0; c < chains; ++c) sums[c] = s[c];
}
#else
void bf16_steps(Lanes*, Lanes, Lanes) {}
#endif

}  // namespace

double fma_limit(int threads, double seconds) {
    const Lanes a = Lanes{} + 0.999F, b = Lanes{} + 0.001F;
    return rate(threads, seconds, 2 * lane_steps, [&](Lanes* sums) { fma_steps(sums, a, b); });
}

bool has_bf16_dot() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

double bf16_limit(int threads, double seconds) {
    return rate(threads, seconds, 4 * lane_steps,
                [](Lanes* sums) { bf16_steps(sums, Lanes{}, Lanes{}); });
}

double distance_limit(int threads, double seconds) {
    const Lanes a = Lanes{} + 0.5F, b = Lanes{} + 0.001F;
    return rate(threads, seconds, 3 * lane_steps, [&](Lanes* sums) { distance_steps(sums, a, b); });
}

}  // namespace bench
