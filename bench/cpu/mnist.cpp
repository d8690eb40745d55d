// bench/cpu/mnist.cpp – an epoch of examples/mnist_mlp.cpp, ours and of oneDNN's primitives
#include "bench/cpu/mnist.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "base/env.h"
#include "base/text.h"

#include "bench/cpu/suite.h"

namespace bench {
namespace {

using namespace ricci;

// --- ours: the network and the step as the example has them -------------------------------------

class Network {
  public:
    explicit Network(const MnistWeights& start)
        : W1(param(start.W1.copy())),
          b1(param(Array::zeros(DType::f32, {MnistTraining::hidden}))),
          W2(param(start.W2.copy())),
          b2(param(Array::zeros(DType::f32, {MnistTraining::classes}))) {}

    Var operator()(const Var& X) const { return output(W2, layer(W1, X, b1), b2); }

    Function layer = compile("H[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", "layer", Device::cpu);
    Function output = compile("Z[n,c] := W[c,k]*H[n,k] + b[c]", "output", Device::cpu);
    Function cross_entropy =
        compile("L := mean[n](logsumexp[c](Z[n,c]) - sum[c](c == label[n] ? Z[n,c] : 0))",
                "cross_entropy", Device::cpu);
    Var W1, b1, W2, b2;
};

class Adam {
  public:
    explicit Adam(const std::vector<Var>& parameters)
        : update_(compile(R"(m[i] = 0.9*m[i] + 0.1*g[i]
                             v[i] = 0.999*v[i] + 0.001*g[i]^2
                             w[i] -= rate*m[i] / (sqrt(v[i]) + 1e-8))",
                          "adam", Device::cpu)) {
        for (const Var& p : parameters) {
            const Shape shape{p.value().size()};
            slots_.push_back({p, Array::zeros(DType::f32, shape), Array::zeros(DType::f32, shape)});
        }
    }

    void step(double rate) {
        const double corrected = adam_rate(rate, ++steps_);
        for (Slot& slot : slots_) {
            const Shape flat{slot.parameter.value().size()};
            update_(slot.mean, slot.parameter.grad().reshape(flat), slot.square,
                    slot.parameter.value().reshape(flat), corrected);
            slot.parameter.clear_grad();
        }
    }

  private:
    struct Slot {
        Var parameter;
        Array mean, square;
    };
    Function update_;
    std::vector<Slot> slots_;
    int steps_ = 0;
};

class OurTraining : public MnistTraining {
  public:
    OurTraining(const Digits& digits, const MnistWeights& start)
        : MnistTraining(digits), network_(start) {}

  protected:
    double step(std::span<const std::int64_t> rows, double rate) override {
        Array images(DType::f32, {batch, pixels});
        Array labels(DType::f32, {batch});
        gather(rows, images.span<float>().data(), labels.span<float>().data());
        const Var loss = network_.cross_entropy(network_(images), Var(labels));
        backward(loss);
        adam_.step(rate);
        return loss.value().item();
    }

  private:
    Network network_;
    Adam adam_{{network_.W1, network_.b1, network_.W2, network_.b2}};
};

// --- data ---------------------------------------------------------------------------------------

constexpr std::int64_t count = 60000;

/// The bytes of a gzipped IDX file after its header; none: it cannot be read.
std::vector<unsigned char> read_idx(const std::string& path, std::size_t header,
                                    std::size_t bytes) {
    if (!std::filesystem::exists(path)) return {};
    std::vector<unsigned char> all(header + bytes);
    FILE* file = popen(format("gzip -dc '{}'", path).c_str(), "r");
    if (file == nullptr) return {};
    const std::size_t read = std::fread(all.data(), 1, all.size(), file);
    if (pclose(file) != 0 || read != all.size())
        throw std::runtime_error(format("`{}` is not the training set of MNIST", path));
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(header));
    return all;
}

/// MNIST from $RICCI_DATA, else `data/`, or the folder `mnist` there; else noise around a pattern
/// for each class.
Digits load_digits() {
    const std::string root = env::data_directory().value_or("data");
    for (const std::string& place : {root + "/mnist", root}) {
        const auto images = read_idx(place + "/train-images-idx3-ubyte.gz", 16,
                                     std::size_t(count * MnistTraining::pixels));
        const auto labels = read_idx(place + "/train-labels-idx1-ubyte.gz", 8, std::size_t(count));
        if (images.empty() || labels.empty()) continue;
        Digits read{Array(DType::f32, {count, MnistTraining::pixels}), Array(DType::f32, {count})};
        std::transform(images.begin(), images.end(), read.images.span<float>().begin(),
                       [](unsigned char byte) { return float(byte) / 255; });
        std::copy(labels.begin(), labels.end(), read.labels.span<float>().begin());
        return read;
    }
    const Array labels = Array::randint(DType::i32, {count}, 0, MnistTraining::classes, 3);
    const Function draw = compile("X[n,p] := 0.1*P[T[n],p] + 0.3*R[n,p]", "draw", Device::cpu);
    return {draw(Array::randn(DType::f32, {MnistTraining::classes, MnistTraining::pixels}, 4),
                 labels, Array::randn(DType::f32, {count, MnistTraining::pixels}, 5)),
            labels.to(DType::f32)};
}

/// Normal with variance 2/inputs (He et al. 2015), as in the example.
Array weights(const Shape& shape, std::uint64_t seed) {
    const Function scale = compile("w[o,k] := r[o,k] * sqrt(2 / size(r, 1))", "scale", Device::cpu);
    return scale(Array::randn(DType::f32, shape, seed));
}

}  // namespace

double adam_rate(double rate, int steps) {
    return rate * std::sqrt(1 - std::pow(0.999, steps)) / (1 - std::pow(0.9, steps));
}

MnistTraining::MnistTraining(Digits digits) : digits_(std::move(digits)) {}

double MnistTraining::epoch() {
    std::vector<std::int64_t> order(static_cast<std::size_t>(digits_.labels.size()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    const std::size_t steps = order.size() / batch;
    double total = 0;
    for (std::size_t n = 0; n < steps; ++n)
        total += step(std::span(order).subspan(n * batch, batch), rate_);
    rate_ *= 0.5;
    return total / static_cast<double>(steps);
}

void MnistTraining::gather(std::span<const std::int64_t> rows, float* images, float* labels) const {
    const float* from = digits_.images.span<const float>().data();
    const float* from_labels = digits_.labels.span<const float>().data();
    for (const std::int64_t row : rows) {
        images = std::copy_n(from + pixels * row, pixels, images);
        *labels++ = from_labels[row];
    }
}

void add_mnist(Suite& suite) {
    suite.add("mnist", "MLP epoch", [] {
        const Digits digits = load_digits();
        const MnistWeights start{weights({MnistTraining::hidden, MnistTraining::pixels}, 1),
                                 weights({MnistTraining::classes, MnistTraining::hidden}, 2)};
        const auto ours = std::make_shared<OurTraining>(digits, start);
        const double loss = ours->epoch();
        Contest contest{.ours = [=] { ours->epoch(); }};
        contest.limit = {Limit::Kind::fma, MnistTraining::operations * double(count)};
        const auto add_peer = [&](const char* name, DnnlProducts products) {
            const std::shared_ptr<MnistTraining> peer = dnnl_training(digits, start, products);
            const double theirs = peer->epoch();
            if (!(std::abs(loss - theirs) < 1e-3 * theirs))
                contest.wrong = format("loss {:.6g}, {} has {:.6g}", loss, name, theirs);
            contest.peers.push_back({.name = name, .run = [=] { peer->epoch(); }});
        };
        add_peer("oneDNN inner", DnnlProducts::inner_product);
        add_peer("oneDNN matmul", DnnlProducts::matmul);
        return contest;
    });
}

}  // namespace bench
