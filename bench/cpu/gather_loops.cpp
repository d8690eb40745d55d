// bench/cpu/gather_loops.cpp – gathers, their gradients and sums by key as one writes them by hand
#include "bench/cpu/gather_loops.h"

#include <algorithm>
#include <vector>

#include <immintrin.h>
#include <omp.h>

namespace bench {
namespace {

/// Rows that are asked for before they are needed.
constexpr std::int64_t rows_ahead = 6;
/// Elements of a cache line.
constexpr std::int64_t line = 16;
/// Tables in turn: an addition does not wait for that of the same element just before.
constexpr std::int64_t tables = 4;

void ask_for(const float* row, std::int64_t columns) {
    for (std::int64_t k = 0; k < columns; k += line) __builtin_prefetch(row + k);
}

/// The sum over i of `value(i)` for each key, by tables of each thread, added in their order.
template <class T, class Value>
void add_by_key(std::int64_t count, std::int64_t keys, const std::int32_t* J, const float* h,
                float* to, Value value) {
    const auto threads = std::int64_t(omp_get_max_threads());
    std::vector<T> sums(std::size_t(threads * tables * keys));
#pragma omp parallel num_threads(int(threads))
    {
        const auto thread = std::int64_t(omp_get_thread_num());
        T* of_thread = sums.data() + thread * tables * keys;
        const std::int64_t begin = count * thread / threads;
        const std::int64_t end = count * (thread + 1) / threads;
        std::int64_t i = begin;
        for (; i + tables <= end; i += tables)
            for (std::int64_t t = 0; t < tables; ++t)
                of_thread[t * keys + J[i + t]] += value(i + t);
        for (; i < end; ++i) of_thread[J[i]] += value(i);
    }
    for (std::int64_t j = 0; j < keys; ++j) {
        T sum = 0;
        for (std::int64_t table = 0; table < threads * tables; ++table)
            sum += sums[std::size_t(table * keys + j)];
        to[j] = h[j] + float(sum);
    }
}

}  // namespace

void gather_rows(std::int64_t rows, std::int64_t columns, const float* A, const std::int32_t* J,
                 float* y) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < rows; ++i) {
        if (i + rows_ahead < rows) ask_for(A + J[i + rows_ahead] * columns, columns);
        const float* from = A + J[i] * columns;
        float* to = y + i * columns;
        for (std::int64_t k = 0; k < columns; k += 4) _mm_stream_ps(to + k, _mm_loadu_ps(from + k));
    }
}

void gather_rows_gradient(std::int64_t rows, std::int64_t columns, std::int64_t table,
                          const std::int32_t* J, const float* dy, float* dA) {
#pragma omp parallel
    {
        // Each thread has columns of its own: the order of sums is that of rows.
        const std::int64_t threads = omp_get_num_threads();
        const std::int64_t width = (columns / line + threads - 1) / threads * line;
        const std::int64_t begin = std::min(columns, width * omp_get_thread_num());
        const std::int64_t own = std::min(columns, begin + width) - begin;
        for (std::int64_t j = 0; j < table; ++j) std::fill_n(dA + j * columns + begin, own, 0.0F);
        for (std::int64_t i = 0; i < rows; ++i) {
            if (i + rows_ahead < rows) ask_for(dA + J[i + rows_ahead] * columns + begin, own);
            const float* from = dy + i * columns + begin;
            float* to = dA + J[i] * columns + begin;
#pragma omp simd
            for (std::int64_t k = 0; k < own; ++k) to[k] += from[k];
        }
    }
}

void segment_sum(std::int64_t count, std::int64_t segments, const std::int32_t* J, const float* x,
                 const float* h, float* to) {
    add_by_key<float>(count, segments, J, h, to, [x](std::int64_t i) { return x[i]; });
}

void histogram(std::int64_t count, std::int64_t bins, const std::int32_t* J, const float* h,
               float* to) {
    add_by_key<std::int32_t>(count, bins, J, h, to, [](std::int64_t) { return 1; });
}

}  // namespace bench
