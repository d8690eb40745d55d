// bench/cpu/mnist.h – the training of examples/mnist_mlp.cpp, whose steps each side takes its way
#pragma once

#include <memory>
#include <random>
#include <span>

#include "ricci/ricci.h"

namespace bench {

/// Images as rows of 784 values, labels as numbers 0 … 9, all f32.
struct Digits {
    ricci::Array images;
    ricci::Array labels;
};

/// The weights to start from. Shapes: W1 [256, 784], W2 [10, 256]; biases are 0.
struct MnistWeights {
    ricci::Array W1;
    ricci::Array W2;
};

class MnistTraining {
  public:
    static constexpr std::int64_t pixels = 784;
    static constexpr std::int64_t hidden = 256;
    static constexpr std::int64_t classes = 10;
    static constexpr std::int64_t batch = 100;
    /// Of the products for one image: the hidden layer's twice, the output's three times.
    static constexpr double operations = 2.0 * hidden * (2 * pixels + 3 * classes);

    explicit MnistTraining(Digits digits);
    virtual ~MnistTraining() = default;
    MnistTraining(const MnistTraining&) = delete;
    MnistTraining& operator=(const MnistTraining&) = delete;

    /// Takes a step for each batch, in an order that is the same for all. Gives the mean loss.
    double epoch();

  protected:
    /// Gives the batch's loss.
    virtual double step(std::span<const std::int64_t> rows, double rate) = 0;
    /// Copies the rows of a batch.
    void gather(std::span<const std::int64_t> rows, float* images, float* labels) const;

  private:
    Digits digits_;
    std::mt19937 random_{7};
    double rate_ = 2e-3;
};

/// How the hidden layer's products are asked of oneDNN.
enum class DnnlProducts : std::uint8_t { inner_product, matmul };
[[nodiscard]] std::unique_ptr<MnistTraining> dnnl_training(const Digits& digits,
                                                           const MnistWeights& start,
                                                           DnnlProducts products);

/// Adam's step size with the corrections of its two means folded in.
[[nodiscard]] double adam_rate(double rate, int steps);

}  // namespace bench
