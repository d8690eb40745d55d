// bench/cpu/mnist_loops.h – what a peer that trains a network does by hand, compiled for this
// machine
#pragma once

#include <cstdint>

namespace bench {

/// Adam's step on `count` weights, in the layout of all four arrays.
void adam_update(std::int64_t count, float rate, const float* gradient, float* mean, float* square,
                 float* weight);

/// dy = y > 0 ? dy : 0 in place, and the sums of its columns.
/// Shapes: y, dy [rows, columns], db [columns]
void relu_gradient(std::int64_t rows, std::int64_t columns, const float* y, float* dy, float* db);

/// Gives the mean cross-entropy of the probabilities p and replaces them by its gradient with
/// respect to the scores they are of.
/// Shapes: p [rows, columns], labels [rows]
double cross_entropy_gradient(std::int64_t rows, std::int64_t columns, const float* labels,
                              float* p);

}  // namespace bench
