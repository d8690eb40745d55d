// examples/mnist_mlp.cpp – a two-layer perceptron on MNIST: layers, loss and optimiser as index
// expressions, gradients generated
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

#include "base/text.h"

#include "examples/mnist_data.h"
#include "examples/progress.h"
#include "ricci/ricci.h"

namespace {

using namespace ricci;

/// The network: 784 pixels, `hidden` rectified units, 10 classes.
class Network {
  public:
    Network(std::int64_t hidden, Device where)
        : device(where),
          W1(weights({hidden, 784}, 1)),
          b1(param(Array::zeros(DType::f32, {hidden}))),
          W2(weights({10, hidden}, 2)),
          b2(param(Array::zeros(DType::f32, {10}))) {}

    Var operator()(const Var& X) const { return output(W2, layer(W1, X, b1), b2); }

    Device device;
    Function layer = compile("H[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", "layer", device);
    Function output = compile("Z[n,c] := W[c,k]*H[n,k] + b[c]", "output", device);
    Function cross_entropy =
        compile("L := mean[n](logsumexp[c](Z[n,c]) - sum[c](c == label[n] ? Z[n,c] : 0))",
                "cross_entropy", device);
    Function hits = compile("n := sum[i](argmax[c](Z[i,c]) == label[i])", "accuracy", device);
    Var W1, b1, W2, b2;

  private:
    /// Normal with variance 2/inputs (He et al. 2015).
    [[nodiscard]] Var weights(const Shape& shape, std::uint64_t seed) const {
        const Function scale = compile("w[o,k] := r[o,k] * sqrt(2 / size(r, 1))", "scale", device);
        return param(scale(Array::randn(DType::f32, shape, seed)));
    }
};

/// Adam (Kingma and Ba 2015, algorithm 1), the corrections folded into the step.
class Adam {
  public:
    Adam(const std::vector<Var>& parameters, Device device)
        : update_(compile(R"(m[i] = 0.9*m[i] + 0.1*g[i]
                             v[i] = 0.999*v[i] + 0.001*g[i]^2
                             w[i] -= rate*m[i] / (sqrt(v[i]) + 1e-8))",
                          "adam", device)) {
        for (const Var& p : parameters) {
            const Shape shape{p.value().size()};
            slots_.push_back({p, Array::zeros(DType::f32, shape), Array::zeros(DType::f32, shape)});
        }
    }

    void step(double rate) {
        ++steps_;
        const double corrected =
            rate * std::sqrt(1 - std::pow(0.999, steps_)) / (1 - std::pow(0.9, steps_));
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

/// Rows of a set, gathered into a minibatch.
mnist::Set batch_of(const mnist::Set& set, std::span<const std::int64_t> rows) {
    const auto count = static_cast<std::int64_t>(rows.size());
    mnist::Set batch{Array(DType::f32, {count, 784}), Array(DType::f32, {count})};
    const auto from = set.images.span<const float>();
    const auto to = batch.images.span<float>();
    for (std::size_t n = 0; n < rows.size(); ++n) {
        const auto row = static_cast<std::size_t>(rows[n]);
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(784 * row), 784,
                    to.begin() + static_cast<std::ptrdiff_t>(784 * n));
        batch.labels.span<float>()[n] = set.labels.span<const float>()[row];
    }
    return batch;
}

double accuracy(const Network& network, const mnist::Set& set) {
    const Array scores = network(set.images).value();
    return network.hits(scores, set.labels).item() / static_cast<double>(set.count());
}

/// The gradient of the first layer's weights by hand, in plain loops.
Array layer_gradient_by_hand(const Arguments& arguments) {
    const auto get = [&](std::string_view name) -> const Array& {
        return std::find_if(arguments.begin(), arguments.end(),
                            [&](const auto& entry) { return entry.first == name; })
            ->second;
    };
    const Array &W = get("W"), &X = get("X"), &b = get("b"), &dH = get("dH");
    const auto count = static_cast<std::size_t>(X.extent(0));
    const auto inputs = static_cast<std::size_t>(W.extent(1));
    const auto outputs = static_cast<std::size_t>(W.extent(0));
    Array dW = Array::zeros(DType::f32, W.shape());
    const auto w = W.span<const float>(), x = X.span<const float>(), bias = b.span<const float>();
    const auto up = dH.span<const float>();
    const auto down = dW.span<float>();
    for (std::size_t n = 0; n < count; ++n)
        for (std::size_t o = 0; o < outputs; ++o) {
            float sum = bias[o];
            for (std::size_t k = 0; k < inputs; ++k) sum += w[o * inputs + k] * x[n * inputs + k];
            if (sum <= 0) continue;
            for (std::size_t k = 0; k < inputs; ++k)
                down[o * inputs + k] += up[n * outputs + o] * x[n * inputs + k];
        }
    return dW;
}

struct Options {
    std::string data;
    std::string device;
    std::int64_t hidden = 256;
    int epochs = 5;
    std::int64_t batch = 100;
    double rate = 2e-3;
    int threads = 0;
    double require = 0;
};

Options parse(int argc, char** argv) {
    Options options;
    CLI::App app("Trains a two-layer perceptron on MNIST with generated gradients", "mnist_mlp");
    app.add_option("--data", options.data, "folder with the MNIST files (IDX, .gz)");
    app.add_option("--hidden", options.hidden, "hidden units (32 or 256 are usual)")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--epochs", options.epochs)->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--batch", options.batch)->check(CLI::Range(1, 10000))->capture_default_str();
    app.add_option("--rate", options.rate, "learning rate of Adam, halved every epoch")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--device", options.device, "cpu, cuda or reference ($RICCI_DEVICE, else cpu)")
        ->check(CLI::IsMember({"cpu", "cuda", "reference"}));
    app.add_option("--threads", options.threads, "0: all cores")->check(CLI::Range(0, 1024));
    app.add_option("--require", options.require, "fail below this test accuracy, in percent");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    return options;
}

/// One pass over the training set. Gives the mean loss.
double train_epoch(Network& network, Adam& adam, const mnist::Set& set, const Options& options,
                   int epoch, std::mt19937& random) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(set.count()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const auto size = static_cast<std::size_t>(std::min(options.batch, set.count()));
    const std::size_t steps = order.size() / size;
    const Progress progress(format("epoch {}/{}", epoch + 1, options.epochs));
    const double rate = options.rate * std::pow(0.5, epoch);
    double total = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        const auto batch = batch_of(set, std::span(order).subspan(step * size, size));
        const Var loss = network.cross_entropy(network(batch.images), Var(batch.labels));
        backward(loss);
        adam.step(rate);
        total += loss.value().item();
        if (step % 20 == 19)
            progress.show(static_cast<double>(step + 1) / static_cast<double>(steps),
                          format("loss {:.4f}", total / static_cast<double>(step + 1)));
    }
    return total / static_cast<double>(steps);
}

/// Gives the test accuracy in percent.
double run(const Options& options) {
    using Clock = std::chrono::steady_clock;
    if (options.threads > 0) set_num_threads(options.threads);
    set_timing(true);
    const mnist::Data data = mnist::load(options.data);
    std::cout << format("data: {}\n      {} training and {} test images\n", data.origin,
                        data.training.count(), data.test.count());
    const Device device =
        options.device.empty() ? default_device() : device_from_name(options.device);
    Network network(options.hidden, device);
    std::cout << "layer:  " << str(network.layer) << "\noutput: " << str(network.output)
              << "\nloss:   " << str(network.cross_entropy) << "\n\n";

    Adam adam({network.W1, network.b1, network.W2, network.b2}, device);
    std::mt19937 random(7);
    double seconds = 0;
    double test_accuracy = 0;
    for (int epoch = 0; epoch < options.epochs; ++epoch) {
        const auto start = Clock::now();
        const double loss = train_epoch(network, adam, data.training, options, epoch, random);
        seconds += std::chrono::duration<double>(Clock::now() - start).count();
        test_accuracy = accuracy(network, data.test);
        Progress(format("epoch {}/{}", epoch + 1, options.epochs))
            .finish(format("loss {:.4f}  test accuracy {:.2f} %  {:.1f} s", loss,
                           100 * test_accuracy, seconds));
    }
    const double images = static_cast<double>(data.training.count()) * options.epochs;
    std::cout << format("\ntest accuracy {:.2f} %, {:.1f} s of training, {:.0f} images/s\n\n",
                        100 * test_accuracy, seconds, images / seconds)
              << timer_table();

    std::vector<std::int64_t> rows(
        static_cast<std::size_t>(std::min<std::int64_t>(options.batch, data.training.count())));
    std::iota(rows.begin(), rows.end(), 0);
    network.layer.set_gradient("W", layer_gradient_by_hand);
    std::cout << "\ngradient of the first layer, generated against hand-written loops:\n  "
              << str(network.layer.grad("W")) << "\n  "
              << str(compare_gradients(network.layer,
                                       {{"W", network.W1.value()},
                                        {"X", batch_of(data.training, rows).images},
                                        {"b", network.b1.value()}},
                                       "W"))
              << "\n";
    return 100 * test_accuracy;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    try {
        const double accuracy = run(options);
        if (accuracy >= options.require) return 0;
        std::cerr << format("the test accuracy {:.2f} % is below {:.2f} %\n", accuracy,
                            options.require);
    } catch (const ricci::Error& error) {
        std::cerr << error.what() << "\n";
    }
    return 1;
}
