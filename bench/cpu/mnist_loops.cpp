// bench/cpu/mnist_loops.cpp – what a peer that trains a network does by hand, compiled for this
// machine
#include "bench/cpu/mnist_loops.h"

#include <algorithm>
#include <cmath>

namespace bench {

void adam_update(std::int64_t count, float rate, const float* gradient, float* mean, float* square,
                 float* weight) {
    // Waking other threads takes longer than a small update.
#pragma omp parallel for simd schedule(static) if (count > 16384)
    for (std::int64_t i = 0; i < count; ++i) {
        const float g = gradient[i];
        const float m = 0.9F * mean[i] + 0.1F * g;
        const float v = 0.999F * square[i] + 0.001F * g * g;
        mean[i] = m;
        square[i] = v;
        weight[i] -= rate * m / (std::sqrt(v) + 1e-8F);
    }
}

void relu_gradient(std::int64_t rows, std::int64_t columns, const float* y, float* dy, float* db) {
    std::fill_n(db, columns, 0.0F);
    for (std::int64_t n = 0; n < rows; ++n, y += columns, dy += columns)
#pragma omp simd
        for (std::int64_t o = 0; o < columns; ++o) {
            dy[o] = y[o] > 0 ? dy[o] : 0.0F;
            db[o] += dy[o];
        }
}

double cross_entropy_gradient(std::int64_t rows, std::int64_t columns, const float* labels,
                              float* p) {
    const float scale = 1 / float(rows);
    double loss = 0;
    for (std::int64_t n = 0; n < rows; ++n, p += columns) {
        const auto label = std::int64_t(labels[n]);
        loss -= std::log(p[label]);
        p[label] -= 1;
    }
    p -= rows * columns;
    for (std::int64_t i = 0; i < rows * columns; ++i) p[i] *= scale;
    return loss * scale;
}

}  // namespace bench
