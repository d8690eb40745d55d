// bench/cpu/gather_loops.h – gathers, their gradients and sums by key as one writes them by hand
#pragma once

#include <cstdint>

namespace bench {

/// y[i,k] = A[J[i],k].
/// Shapes: A [any, columns], J [rows], y [rows, columns]
void gather_rows(std::int64_t rows, std::int64_t columns, const float* A, const std::int32_t* J,
                 float* y);

/// dA[j,k] = the sum of dy[i,k] where J[i] == j, in order of i.
/// Shapes: dA [table, columns], J [rows], dy [rows, columns]
void gather_rows_gradient(std::int64_t rows, std::int64_t columns, std::int64_t table,
                          const std::int32_t* J, const float* dy, float* dA);

/// to[j] = h[j] + the sum of x[i] where J[i] == j; each thread sums a part of its own.
/// Shapes: h, to [segments], J, x [count]
void segment_sum(std::int64_t count, std::int64_t segments, const std::int32_t* J, const float* x,
                 const float* h, float* to);

/// to[j] = h[j] + how many J[i] are j; each thread counts a part of its own.
/// Shapes: h, to [bins], J [count]
void histogram(std::int64_t count, std::int64_t bins, const std::int32_t* J, const float* h,
               float* to);

}  // namespace bench
