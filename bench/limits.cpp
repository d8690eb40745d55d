// bench/limits.cpp – what the machine can do, measured by loops that do nothing else
#include "bench/limits.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// Independent accumulators, enough to hide the latency of every core's two FMA units; they and two
// factors fit into sixteen registers of any width.
constexpr int chains = 12;
constexpr int steps = 2000;
constexpr int most_lanes = 16;
constexpr int tile_products = 4000;

/// Accumulators of one thread.
using Sums = std::array<float, std::size_t(most_lanes) * chains>;

/// A fused multiply-add in each slot.
template <int lanes>
inline __attribute__((always_inline)) void fma_steps(Sums& sums) {
    typedef float Lanes __attribute__((vector_size(lanes * sizeof(float))));
    const Lanes a = Lanes{} + 0.999F, b = Lanes{} + 0.001F;
    Lanes s[chains];
    std::memcpy(s, sums.data(), sizeof s);
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) s[c] = s[c] * a + b;
    std::memcpy(sums.data(), s, sizeof s);
}

template <int lanes>
inline __attribute__((always_inline)) void distance_steps(Sums& sums) {
    typedef float Lanes __attribute__((vector_size(lanes * sizeof(float))));
    const Lanes a = Lanes{} + 0.5F, b = Lanes{} + 0.001F;
    Lanes s[chains];
    std::memcpy(s, sums.data(), sizeof s);
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) {
            const Lanes d = a - s[c];
            s[c] = d * b + s[c];
        }
    std::memcpy(sums.data(), s, sizeof s);
}

/// A loop for one width of vectors.
struct Loop {
    int lanes = 0;
    void (*run)(Sums& sums) = nullptr;
};

#ifdef __x86_64__
__attribute__((target("arch=x86-64-v4"))) void fma_avx512(Sums& sums) { fma_steps<16>(sums); }
__attribute__((target("arch=x86-64-v3"))) void fma_avx2(Sums& sums) { fma_steps<8>(sums); }
__attribute__((target("arch=x86-64-v4"))) void distance_avx512(Sums& sums) {
    distance_steps<16>(sums);
}
__attribute__((target("arch=x86-64-v3"))) void distance_avx2(Sums& sums) {
    distance_steps<8>(sums);
}
/// The loop of the widest vectors that the processor has.
Loop widest(Loop avx512, Loop avx2, Loop otherwise) {
    if (__builtin_cpu_supports("x86-64-v4")) return avx512;
    return __builtin_cpu_supports("x86-64-v3") ? avx2 : otherwise;
}
Loop fma_loop() { return widest({16, fma_avx512}, {8, fma_avx2}, {4, fma_steps<4>}); }
Loop distance_loop() {
    return widest({16, distance_avx512}, {8, distance_avx2}, {4, distance_steps<4>});
}
#else
Loop fma_loop() { return {4, fma_steps<4>}; }
Loop distance_loop() { return {4, distance_steps<4>}; }
#endif

/// Operations a second of `step`, which does `operations` a call, on all threads together.
double rate(int threads, double seconds, double operations,
            const std::function<void(Sums&)>& step) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    const auto work = [&](std::size_t t) {
        alignas(64) Sums sums = {};
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
        volatile float keep = sums[0];
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

#ifdef __x86_64__
__attribute__((target("avx512bf16,avx512f"))) void bf16_steps(Sums& sums) {
    __m512 s[chains];
    std::memcpy(s, sums.data(), sizeof s);
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) s[c] = _mm512_dpbf16_ps(s[c], __m512bh{}, __m512bh{});
    std::memcpy(sums.data(), s, sizeof s);
}
/// Numbers of bf16 from -2 to 2: cores are slower on these than on zeros, which take less power.
std::array<std::uint16_t, 2048> tile_numbers() {
    std::array<std::uint16_t, 2048> numbers{};
    std::uint32_t state = 1;
    for (std::uint16_t& number : numbers) {
        state = state * 1664525U + 1013904223U;
        number = std::uint16_t(0x3f00U | ((state >> 16U) & 0x80ffU));
    }
    return numbers;
}

/// Two tiles of rows by two of columns, loaded from the first-level cache each time.
__attribute__((target("amx-tile,amx-bf16"))) void tile_steps(Sums&) {
    struct alignas(64) Shapes {
        std::uint8_t palette = 1;
        std::uint8_t start_row = 0;
        std::array<std::uint8_t, 14> reserved = {};
        std::array<std::uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
        std::array<std::uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static const Shapes shapes;
    alignas(64) static const auto numbers = tile_numbers();
    const std::uint16_t* const tiles = numbers.data();
    _tile_loadconfig(&shapes);
    for (int n = 0; n < tile_products; n += 4) {
        _tile_loadd(4, tiles, 64);
        _tile_loadd(5, tiles + 512, 64);
        _tile_loadd(6, tiles + 1024, 64);
        _tile_loadd(7, tiles + 1536, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
}
#else
void bf16_steps(Sums&) {}
void tile_steps(Sums&) {}
#endif

double rate_of(const Loop& loop, double operations, int threads, double seconds) {
    return rate(threads, seconds, operations * loop.lanes * chains * steps, loop.run);
}

}  // namespace

double fma_limit(int threads, double seconds) { return rate_of(fma_loop(), 2, threads, seconds); }

bool has_bf16_dot() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

double bf16_limit(int threads, double seconds) {
    return rate_of({most_lanes, bf16_steps}, 4, threads, seconds);
}

double tile_limit(int threads, double seconds) {
    constexpr double operations = 2.0 * 16 * 16 * 32;
    return rate(threads, seconds, operations * tile_products, tile_steps);
}

double distance_limit(int threads, double seconds) {
    return rate_of(distance_loop(), 3, threads, seconds);
}

}  // namespace bench
