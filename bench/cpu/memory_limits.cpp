// bench/cpu/memory_limits.cpp – what memory can do, measured by loops that do nothing else
#include "bench/cpu/memory_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <immintrin.h>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<char, Free>;

/// Memory of at least that many bytes, written once and kept.
char* block(std::size_t bytes, std::size_t which) {
    struct Kept {
        Block memory;
        std::size_t bytes = 0;
    };
    static Kept kept[3];
    Kept& found = kept[which];
    if (found.bytes < bytes) {
        found.memory.reset(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
        std::memset(found.memory.get(), 1, bytes);
        found.bytes = bytes;
    }
    return found.memory.get();
}

void copy_plain(char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void copy_streaming(char* to, const char* from, std::size_t bytes) {
    for (std::size_t n = 0; n + 16 <= bytes; n += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + n),
                         _mm_load_si128(reinterpret_cast<const __m128i*>(from + n)));
    _mm_sfence();
}
template <int bytes>
inline __attribute__((always_inline)) float sum_all(const char* from, std::size_t size) {
    typedef float Lanes __attribute__((vector_size(bytes)));
    constexpr std::size_t sums = 256 / bytes;
    Lanes s[sums] = {};
    const Lanes* next = reinterpret_cast<const Lanes*>(from);
    for (std::size_t n = 0; n + sums <= size / bytes; n += sums)
#pragma GCC unroll 16
        for (std::size_t c = 0; c < sums; ++c) s[c] += next[n + c];
    for (std::size_t c = 1; c < sums; ++c) s[0] += s[c];
    return s[0][0];
}
__attribute__((target("arch=x86-64-v4"))) float sum_avx512(const char* from, std::size_t size) {
    return sum_all<64>(from, size);
}
__attribute__((target("arch=x86-64-v3"))) float sum_avx2(const char* from, std::size_t size) {
    return sum_all<32>(from, size);
}
float read_all(const char* from, std::size_t size) {
    if (__builtin_cpu_supports("x86-64-v4")) return sum_avx512(from, size);
    return __builtin_cpu_supports("x86-64-v3") ? sum_avx2(from, size) : sum_all<16>(from, size);
}

/// Seconds of `work` on parts of `bytes` by all threads at once; the median of some turns. Threads
/// wait for a turn without sleeping, and Linux has 20 ms to spread them over the cores.
template <class Work>
double seconds_of(std::size_t bytes, int threads, const Work& work) {
    const std::size_t part = bytes / static_cast<std::size_t>(threads) / 256 * 256;
    constexpr int over = -1;
    std::atomic<int> turn = 0;
    std::atomic<int> done = 0;
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t)
        others.emplace_back([&, t] {
            for (int last = 0;;) {
                int now = 0;
                while ((now = turn.load(std::memory_order_acquire)) == last) {
                }
                if (now == over) return;
                last = now;
                work(static_cast<std::size_t>(t) * part, part);
                done.fetch_add(1, std::memory_order_release);
            }
        });
    const auto take_turn = [&] {
        const auto start = Clock::now();
        done.store(0, std::memory_order_relaxed);
        turn.fetch_add(1, std::memory_order_release);
        work(0, part);
        while (done.load(std::memory_order_acquire) < threads - 1) {
        }
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    for (double spent = 0; threads > 1 && spent < 0.02;) spent += take_turn();
    std::vector<double> turns;
    double spent = 0;
    while (turns.size() < 200 && (turns.size() < 3 || spent < 0.02)) {
        turns.push_back(take_turn());
        spent += turns.back();
    }
    turn.store(over, std::memory_order_release);
    for (std::thread& other : others) other.join();
    std::sort(turns.begin(), turns.end());
    return turns[turns.size() / 2];
}

}  // namespace

double copy_seconds(double bytes, int threads) {
    const auto half = static_cast<std::size_t>(bytes / 2);
    char* to = block(half, 0);
    const char* from = block(half, 1);
    const double plain = seconds_of(
        half, threads, [&](std::size_t at, std::size_t n) { copy_plain(to + at, from + at, n); });
    const double streaming = seconds_of(half, threads, [&](std::size_t at, std::size_t n) {
        copy_streaming(to + at, from + at, n);
    });
    return std::min(plain, streaming);
}

double read_seconds(double bytes, int threads) {
    const auto all = static_cast<std::size_t>(bytes);
    const char* from = block(all, 2);
    volatile float keep = 0;
    return seconds_of(all, threads,
                      [&](std::size_t at, std::size_t n) { keep = read_all(from + at, n); });
}

}  // namespace bench
