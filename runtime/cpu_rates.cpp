// runtime/cpu_rates.cpp – loops of multiply-adds, of products of bf16, of copies
#include "runtime/cpu_rates.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "runtime/array.h"

namespace ricci::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int chains = 12;
constexpr int most_chains = 20;
constexpr int steps = 20000;
constexpr int widest_bytes = 64;
constexpr int tile_products = 4000;

/// The sums of one thread.
template <class Element>
using Sums = std::array<Element, widest_bytes / sizeof(Element) * most_chains>;

enum class Step : std::uint8_t { multiply_add, distance };

/// Independent sums, enough to hide the latency of two units of four cycles, and few enough that
/// they and two factors fit into sixteen registers; into 32 go those that hide a difference, too.
constexpr int chains_of(Step step, int bytes) {
    return step == Step::distance && bytes == widest_bytes ? most_chains : chains;
}

/// Sums of vectors of so many bytes, one after the other.
template <Step step, int bytes, class Element>
inline __attribute__((always_inline)) void run_steps(Element* sums) {
    typedef Element Lanes __attribute__((vector_size(bytes)));
    const Lanes a = Lanes{} + static_cast<Element>(0.999);
    const Lanes b = Lanes{} + static_cast<Element>(0.001);
    constexpr int count = chains_of(step, bytes);
    Lanes local[count];
    std::memcpy(local, sums, sizeof local);
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 20
        for (int c = 0; c < count; ++c) {
            if constexpr (step == Step::multiply_add) {
                local[c] = local[c] * a + b;
            } else {
                const Lanes difference = a - local[c];
                local[c] = difference * b + local[c];
            }
        }
    std::memcpy(sums, local, sizeof local);
}

/// The loop for one width of vectors.
template <class Element>
struct Loop {
    int bytes = 16;
    int chains = 0;
    void (*run)(Element* sums) = nullptr;
};

#ifdef __x86_64__
#define RICCI_EVERY_WIDTH \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
template <Step step, class Element>
__attribute__((target("arch=x86-64-v4"))) void run_avx512(Element* sums) {
    run_steps<step, 64>(sums);
}
template <Step step, class Element>
__attribute__((target("arch=x86-64-v3"))) void run_avx2(Element* sums) {
    run_steps<step, 32>(sums);
}
/// Of the widest vectors that the processor has.
template <Step step, class Element>
Loop<Element> widest_loop() {
    if (__builtin_cpu_supports("x86-64-v4"))
        return {64, chains_of(step, 64), run_avx512<step, Element>};
    if (__builtin_cpu_supports("x86-64-v3"))
        return {32, chains_of(step, 32), run_avx2<step, Element>};
    return {16, chains_of(step, 16), run_steps<step, 16, Element>};
}

__attribute__((target("avx512bf16,avx512f"))) void run_bf16_pairs(float* sums) {
    __m512 local[chains];
    std::memcpy(local, sums, sizeof local);
    for (int n = 0; n < steps; ++n)
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c)
            local[c] = _mm512_dpbf16_ps(local[c], __m512bh{}, __m512bh{});
    std::memcpy(sums, local, sizeof local);
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

/// Two tiles of rows by two of columns.
__attribute__((target("amx-tile,amx-bf16"))) void run_bf16_tiles(float*) {
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
#define RICCI_EVERY_WIDTH
template <Step step, class Element>
Loop<Element> widest_loop() {
    return {16, chains_of(step, 16), run_steps<step, 16, Element>};
}
void run_bf16_pairs(float*) {}
void run_bf16_tiles(float*) {}
#endif

typedef double Doubles __attribute__((vector_size(64)));
RICCI_EVERY_WIDTH void copy(Doubles* to, const Doubles* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

/// Repeats `step` on every thread; the sum of their rates, in `units` of a step a second.
double rate(int threads, double seconds, double units,
            const std::function<void(std::size_t)>& step) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    const auto work = [&](std::size_t thread) {
        step(thread);  // warm
        // Linux may take 15 ms to spread new threads over the cores.
        const auto spread = Clock::now() + std::chrono::milliseconds(threads > 1 ? 20 : 0);
        while (Clock::now() < spread) step(thread);
        double done = 0;
        double elapsed = 0;
        const auto begin = Clock::now();
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

/// The loop's rate, of so many operations a lane.
template <class Element>
double rate_of(const Loop<Element>& loop, double operations, int threads, double seconds) {
    struct alignas(widest_bytes) OfThread {
        Sums<Element> sums = {};
    };
    std::vector<OfThread> all(static_cast<std::size_t>(threads));
    const double lanes = double(loop.bytes) / sizeof(Element);
    return rate(threads, seconds, operations * lanes * loop.chains * steps,
                [&](std::size_t thread) { loop.run(all[thread].sums.data()); });
}

}  // namespace

double multiply_add_rate(DType dtype, int threads, double seconds) {
    return dtype == DType::f64
               ? rate_of(widest_loop<Step::multiply_add, double>(), 2, threads, seconds)
               : rate_of(widest_loop<Step::multiply_add, float>(), 2, threads, seconds);
}

double distance_rate(int threads, double seconds) {
    return rate_of(widest_loop<Step::distance, float>(), 3, threads, seconds);
}

bool has_bf16_pairs() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

double bf16_pair_rate(int threads, double seconds) {
    return rate_of<float>({widest_bytes, chains, run_bf16_pairs}, 4, threads, seconds);
}

double bf16_tile_rate(int threads, double seconds) {
    constexpr double operations = 2.0 * 16 * 16 * 32;
    return rate(threads, seconds, operations * tile_products,
                [](std::size_t) { run_bf16_tiles(nullptr); });
}

double copy_rate(int threads, double seconds) {
    constexpr std::int64_t bytes = std::int64_t{64} << 20;  // beyond every cache
    std::vector<Array> blocks;
    for (int i = 0; i < 2 * threads; ++i)
        blocks.push_back(
            Array::zeros(DType::f64, {bytes / static_cast<std::int64_t>(sizeof(double))}));
    return rate(threads, seconds, 2.0 * bytes, [&](std::size_t thread) {
        copy(static_cast<Doubles*>(blocks[2 * thread].data()),
             static_cast<const Doubles*>(blocks[2 * thread + 1].data()), bytes / sizeof(Doubles));
    });
}

}  // namespace ricci::runtime
