// tests/cuda/training_test.cpp – steps of training on the GPU are those on the reference device
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "tests/cuda/emulated_gpu.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

/// A perceptron of two layers, its loss and its optimiser, on one device.
struct Network {
    explicit Network(Device device)
        : layer(compile("H[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])", "layer", device)),
          output(compile("Z[n,c] := W[c,k]*H[n,k] + b[c]", "output", device)),
          loss(compile("L := mean[n](logsumexp[c](Z[n,c]) - sum[c](c == label[n] ? Z[n,c] : 0))",
                       "loss", device)),
          update(compile(R"(m[i] = 0.9*m[i] + 0.1*g[i]
                            v[i] = 0.999*v[i] + 0.001*g[i]^2
                            w[i] -= rate*m[i] / (sqrt(v[i]) + 1e-8))",
                         "adam", device)) {
        for (const Var& p : parameters) {
            const Shape shape{p.value().size()};
            means.push_back(Array::zeros(DType::f32, shape));
            squares.push_back(Array::zeros(DType::f32, shape));
        }
    }

    /// The loss before the step.
    double step(const Array& X, const Array& labels) {
        const Var result =
            loss(output(parameters[2], layer(parameters[0], Var(X), parameters[1]), parameters[3]),
                 Var(labels));
        backward(result);
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const Shape flat{parameters[p].value().size()};
            update({{"m", means[p]},
                    {"g", parameters[p].grad().reshape(flat)},
                    {"v", squares[p]},
                    {"w", parameters[p].value().reshape(flat)},
                    {"rate", 0.05}});
            parameters[p].clear_grad();
        }
        return result.value().item();
    }

    std::vector<Var> parameters = {
        param(Array::randn(DType::f32, {8, 6}, 1)), param(Array::zeros(DType::f32, {8})),
        param(Array::randn(DType::f32, {3, 8}, 2)), param(Array::zeros(DType::f32, {3}))};
    Function layer, output, loss, update;
    std::vector<Array> means, squares;
};

TEST_CASE("a few steps of training go as on the reference device") {
    const EmulatedGpu emulated(deferred(9));
    const Array X = Array::randn(DType::f32, {10, 6}, 5);
    const Array labels = Array::from<float>({0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, {10});
    Network there(Device::cuda);
    Network here(Device::reference);
    double first = 0;
    double last = 0;
    for (int step = 0; step < 4; ++step) {
        CAPTURE(step);
        last = there.step(X, labels);
        if (step == 0) first = last;
        CHECK(last == doctest::Approx(here.step(X, labels)).epsilon(1e-4));
    }
    CHECK(last < first);
    for (std::size_t p = 0; p < there.parameters.size(); ++p) {
        const Array& ours = there.parameters[p].value();
        CHECK(ours.device() == Device::cuda);
        const auto x = ours.span<const float>();
        const auto y = here.parameters[p].value().span<const float>();
        for (std::size_t i = 0; i < x.size(); ++i)
            CHECK(std::abs(x[i] - y[i]) < 1e-3F * (1 + std::abs(y[i])));
    }
}

TEST_CASE("gradients of several uses are added on the GPU") {
    const EmulatedGpu emulated;
    const Function product = compile("z[i] := x[i]*y[i]", "product", Device::cuda);
    const Function total = compile("s := sum[i](z[i])", "total", Device::cuda);
    const Var x = param(Array::full(DType::f32, {5}, 3));
    backward(total(product(product(x, x), x)));
    CHECK(x.grad().device() == Device::cuda);
    CHECK(x.grad().at({4}) == doctest::Approx(27));
}

}  // namespace
}  // namespace ricci::tests
