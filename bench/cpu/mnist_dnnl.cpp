// bench/cpu/mnist_dnnl.cpp – the steps of examples/mnist_mlp.cpp written with oneDNN's primitives
#include <algorithm>

#include "bench/cpu/mnist.h"
#include "bench/cpu/mnist_loops.h"
#include "bench/cpu/peers.h"

namespace bench {
namespace {

using dnnl::prop_kind;
using Dims = dnnl::memory::dims;
constexpr auto f32 = dnnl::memory::data_type::f32;

dnnl::memory::desc row_major(const Dims& shape) {
    return {shape, f32,
            shape.size() == 1 ? dnnl::memory::format_tag::a : dnnl::memory::format_tag::ab};
}

float* values(const dnnl::memory& memory) { return static_cast<float*>(memory.get_data_handle()); }

/// Memory of its own, padding included, that holds zeros.
dnnl::memory zeros(const dnnl::memory::desc& layout) {
    const dnnl::memory memory(layout, engine());
    std::fill_n(values(memory), layout.get_size() / sizeof(float), 0.0F);
    return memory;
}

/// Weights with what Adam keeps of them, all in one layout: of a product forward and of its
/// gradient, so that nothing is reordered.
struct Parameter {
    explicit Parameter(const dnnl::memory::desc& layout)
        : value(zeros(layout)),
          gradient(zeros(layout)),
          mean(zeros(layout)),
          square(zeros(layout)) {}

    void set(const ricci::Array& array, const dnnl::memory::desc& as) {
        dnnl::memory from(as, engine(), const_cast<void*>(array.data()));
        dnnl::reorder(from, value).execute(stream(), from, value);
        stream().wait();
    }
    void update(float rate) {
        adam_update(std::int64_t(value.get_desc().get_size() / sizeof(float)), rate,
                    values(gradient), values(mean), values(square), values(value));
    }

    dnnl::memory value, gradient, mean, square;
};

dnnl::primitive_attr with_relu() {
    dnnl::post_ops activation;
    activation.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(activation);
    return attributes;
}

class DnnlTraining : public MnistTraining {
  public:
    DnnlTraining(const Digits& digits, const MnistWeights& start, DnnlProducts products)
        : MnistTraining(digits), labels_(batch) {
        if (products == DnnlProducts::matmul)
            add_hidden_matmul(start.W1);
        else
            add_hidden_inner_product(start.W1);
        add_output(start.W2);
        const dnnl::softmax_forward::primitive_desc softmax(
            {prop_kind::forward_training, row_major({batch, classes}), 1}, engine());
        forward_.push_back(
            {dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, Z_}, {DNNL_ARG_DST, dZ_}}});
        run_forward_ = in_order(forward_);
        run_output_gradient_ = in_order(output_gradient_);
        run_hidden_gradient_ = in_order(hidden_gradient_);
    }

  protected:
    double step(std::span<const std::int64_t> rows, double rate) override {
        gather(rows, values(X_), labels_.data());
        run_forward_();
        const double loss = cross_entropy_gradient(batch, classes, labels_.data(), values(dZ_));
        run_output_gradient_();
        relu_gradient(batch, hidden, values(H_), values(dH_), values(b1_.gradient));
        run_hidden_gradient_();
        const auto corrected = float(adam_rate(rate, ++steps_));
        for (Parameter* parameter : {&W1_, &b1_, &W2_, &b2_}) parameter->update(corrected);
        return loss;
    }

  private:
    void add_hidden_inner_product(const ricci::Array& start) {
        const dnnl::inner_product_forward::primitive_desc forward(
            {prop_kind::forward_training, row_major({batch, pixels}), any({hidden, pixels}),
             row_major({hidden}), row_major({batch, hidden})},
            with_relu(), engine());
        const dnnl::memory::desc layout = forward.weights_desc();
        const dnnl::inner_product_backward_weights::primitive_desc back(
            {row_major({batch, pixels}), layout, row_major({batch, hidden})}, engine(), forward);
        W1_ = Parameter(layout);
        W1_.set(start, row_major({hidden, pixels}));
        forward_.push_back({dnnl::inner_product_forward(forward),
                            {{DNNL_ARG_SRC, X_},
                             {DNNL_ARG_WEIGHTS, W1_.value},
                             {DNNL_ARG_BIAS, b1_.value},
                             {DNNL_ARG_DST, H_}}});
        hidden_gradient_.push_back({dnnl::inner_product_backward_weights(back),
                                    {{DNNL_ARG_SRC, X_},
                                     {DNNL_ARG_DIFF_DST, dH_},
                                     {DNNL_ARG_DIFF_WEIGHTS, W1_.gradient}}});
    }

    /// With the weights as [pixels, hidden], which both products take as they are.
    void add_hidden_matmul(const ricci::Array& start) {
        const Dims shape{pixels, hidden};
        const dnnl::matmul::primitive_desc forward(
            {row_major({batch, pixels}), row_major(shape), row_major({1, hidden}),
             row_major({batch, hidden})},
            with_relu(), engine());
        const dnnl::memory::desc turned({pixels, batch}, f32, dnnl::memory::format_tag::ba);
        const dnnl::matmul::primitive_desc back(
            {turned, row_major({batch, hidden}), row_major(shape)}, engine());
        W1_ = Parameter(row_major(shape));
        W1_.set(start, {shape, f32, dnnl::memory::format_tag::ba});
        forward_.push_back({dnnl::matmul(forward),
                            {{DNNL_ARG_SRC, X_},
                             {DNNL_ARG_WEIGHTS, W1_.value},
                             {DNNL_ARG_BIAS, {row_major({1, hidden}), engine(), values(b1_.value)}},
                             {DNNL_ARG_DST, H_}}});
        hidden_gradient_.push_back({dnnl::matmul(back),
                                    {{DNNL_ARG_SRC, {turned, engine(), values(X_)}},
                                     {DNNL_ARG_WEIGHTS, dH_},
                                     {DNNL_ARG_DST, W1_.gradient}}});
    }

    void add_output(const ricci::Array& start) {
        const dnnl::inner_product_forward::primitive_desc forward(
            {prop_kind::forward_training, row_major({batch, hidden}), any({classes, hidden}),
             row_major({classes}), row_major({batch, classes})},
            engine());
        const dnnl::memory::desc layout = forward.weights_desc();
        const dnnl::inner_product_backward_weights::primitive_desc weights(
            {row_major({batch, hidden}), layout, row_major({classes}), row_major({batch, classes})},
            engine(), forward);
        const dnnl::inner_product_backward_data::primitive_desc data(
            {row_major({batch, hidden}), layout, row_major({batch, classes})}, engine(), forward);
        W2_ = Parameter(layout);
        W2_.set(start, row_major({classes, hidden}));
        forward_.push_back({dnnl::inner_product_forward(forward),
                            {{DNNL_ARG_SRC, H_},
                             {DNNL_ARG_WEIGHTS, W2_.value},
                             {DNNL_ARG_BIAS, b2_.value},
                             {DNNL_ARG_DST, Z_}}});
        output_gradient_ = {
            {dnnl::inner_product_backward_weights(weights),
             {{DNNL_ARG_SRC, H_},
              {DNNL_ARG_DIFF_DST, dZ_},
              {DNNL_ARG_DIFF_WEIGHTS, W2_.gradient},
              {DNNL_ARG_DIFF_BIAS, b2_.gradient}}},
            {dnnl::inner_product_backward_data(data),
             {{DNNL_ARG_DIFF_DST, dZ_}, {DNNL_ARG_WEIGHTS, W2_.value}, {DNNL_ARG_DIFF_SRC, dH_}}}};
    }

    std::vector<float> labels_;
    dnnl::memory X_ = zeros(row_major({batch, pixels}));
    dnnl::memory H_ = zeros(row_major({batch, hidden}));
    dnnl::memory dH_ = zeros(row_major({batch, hidden}));
    dnnl::memory Z_ = zeros(row_major({batch, classes}));
    dnnl::memory dZ_ = zeros(row_major({batch, classes}));
    Parameter W1_{row_major({1})};
    Parameter b1_{row_major({hidden})};
    Parameter W2_{row_major({1})};
    Parameter b2_{row_major({classes})};
    std::vector<DnnlStep> forward_, output_gradient_, hidden_gradient_;
    std::function<void()> run_forward_, run_output_gradient_, run_hidden_gradient_;
    int steps_ = 0;
};

}  // namespace

std::unique_ptr<MnistTraining> dnnl_training(const Digits& digits, const MnistWeights& start,
                                             DnnlProducts products) {
    return std::make_unique<DnnlTraining>(digits, start, products);
}

}  // namespace bench
