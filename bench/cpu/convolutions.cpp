// bench/cpu/convolutions.cpp – convolutions on NCHW arrays and both gradients, against oneDNN in
// the better of plain layouts and its own with the reorders
#include "base/text.h"

#include "bench/cpu/peers.h"

namespace bench {
namespace {

using namespace ricci;

struct Layer {
    const char* name = nullptr;
    std::int64_t batch;
    std::int64_t in;
    std::int64_t out;
    std::int64_t size;  ///< rows and columns of the input
    std::int64_t kernel;
    std::int64_t stride = 1;
    std::int64_t pad = 0;
    bool is_depthwise = false;
    std::int64_t dilation = 1;
    double goal[3] = {1, 1, 1};  ///< forward, dX, dW
};

constexpr Layer layers[] = {
    {.name = "LeNet 1",
     .batch = 100,
     .in = 1,
     .out = 20,
     .size = 28,
     .kernel = 5,
     .goal = {1.5, 1.5, 1.5}},
    {.name = "LeNet 2", .batch = 100, .in = 20, .out = 50, .size = 12, .kernel = 5},
    {.name = "3x3 64", .batch = 8, .in = 64, .out = 64, .size = 56, .kernel = 3, .pad = 1},
    {.name = "3x3 128", .batch = 8, .in = 128, .out = 128, .size = 28, .kernel = 3, .pad = 1},
    {.name = "1x1 256-64", .batch = 8, .in = 256, .out = 64, .size = 56, .kernel = 1},
    {.name = "7x7 s2",
     .batch = 8,
     .in = 3,
     .out = 64,
     .size = 224,
     .kernel = 7,
     .stride = 2,
     .pad = 3,
     .goal = {1, 1.5, 1}},
    {.name = "depthwise",
     .batch = 8,
     .in = 144,
     .out = 144,
     .size = 56,
     .kernel = 3,
     .pad = 1,
     .is_depthwise = true,
     .goal = {1.5, 1.5, 1.5}},
    {.name = "3x3 64 s2", .batch = 8, .in = 64, .out = 64, .size = 57, .kernel = 3, .stride = 2},
};

/// Layers of ResNet-50, VGG, AlexNet, MobileNet, ConvNeXt, vision transformers, and odd sizes;
/// named by what they are.
// clang-format off
constexpr Layer other_layers[] = {
    {.batch = 8, .in = 256, .out = 256, .size = 14, .kernel = 3, .pad = 1},
    {.batch = 8, .in = 512, .out = 512, .size = 7, .kernel = 3, .pad = 1},
    {.batch = 8, .in = 128, .out = 128, .size = 56, .kernel = 3, .stride = 2, .pad = 1},
    {.batch = 2, .in = 64, .out = 128, .size = 112, .kernel = 3, .pad = 1},
    {.batch = 2, .in = 3, .out = 64, .size = 224, .kernel = 3, .pad = 1},
    {.batch = 64, .in = 3, .out = 32, .size = 32, .kernel = 3, .pad = 1},
    {.batch = 64, .in = 32, .out = 64, .size = 28, .kernel = 3},
    {.batch = 64, .in = 1, .out = 32, .size = 28, .kernel = 3},
    {.batch = 8, .in = 16, .out = 31, .size = 37, .kernel = 5},
    {.batch = 4, .in = 64, .out = 64, .size = 56, .kernel = 3, .pad = 2, .dilation = 2},
    {.batch = 4, .in = 3, .out = 64, .size = 224, .kernel = 11, .stride = 4, .pad = 2},
    {.batch = 8, .in = 64, .out = 256, .size = 56, .kernel = 1},
    {.batch = 8, .in = 512, .out = 128, .size = 28, .kernel = 1},
    {.batch = 8, .in = 1024, .out = 256, .size = 14, .kernel = 1},
    {.batch = 8, .in = 512, .out = 2048, .size = 7, .kernel = 1},
    {.batch = 8, .in = 256, .out = 512, .size = 56, .kernel = 1, .stride = 2},
    {.batch = 4, .in = 3, .out = 96, .size = 224, .kernel = 4, .stride = 4},
    {.batch = 4, .in = 3, .out = 384, .size = 224, .kernel = 16, .stride = 16},
    {.batch = 8, .in = 64, .out = 128, .size = 56, .kernel = 2, .stride = 2},
};
/// The same, with a channel of results for each of the input.
constexpr Layer other_depthwise_layers[] = {
    {.batch = 8, .in = 32, .out = 32, .size = 112, .kernel = 3, .pad = 1},
    {.batch = 8, .in = 96, .out = 96, .size = 112, .kernel = 3, .stride = 2, .pad = 1},
    {.batch = 8, .in = 240, .out = 240, .size = 28, .kernel = 5, .pad = 2},
    {.batch = 8, .in = 960, .out = 960, .size = 7, .kernel = 3, .pad = 1},
    {.batch = 4, .in = 96, .out = 96, .size = 56, .kernel = 7, .pad = 3},
};
// clang-format on

std::int64_t size_out(const Layer& l, std::int64_t size) {
    return (size + 2 * l.pad - l.dilation * (l.kernel - 1) - 1) / l.stride + 1;
}

std::string subscript(const Layer& l, const char* at, const char* tap) {
    std::string text = l.stride == 1 ? at : format("{}*{}", l.stride, at);
    text += l.dilation == 1 ? format("+{}", tap) : format("+{}*{}", l.dilation, tap);
    if (l.pad > 0) text = format("pad({}-{},{})", text, l.pad, l.pad);
    return text;
}

std::string program(const Layer& l) {
    if (l.kernel == 1 && l.stride == 1) return "Y[n,o,y,x] := X[n,c,y,x]*W[o,c,0,0]";
    const std::string y = subscript(l, "y", "u");
    const std::string x = subscript(l, "x", "v");
    std::string text = l.is_depthwise ? format("Y[n,c,y,x] := X[n,c,{},{}]*W[c,0,u,v]", y, x)
                                      : format("Y[n,o,y,x] := X[n,c,{},{}]*W[o,c,u,v]", y, x);
    if (l.stride > 1)
        text += format(" where y in 0:(size(X,2)+{0})//{1}+1, x in 0:(size(X,3)+{0})//{1}+1",
                       2 * l.pad - l.dilation * (l.kernel - 1) - 1, l.stride);
    return text;
}

enum class Pass { forward, input, weights };

/// oneDNN's convolution in a layout: its own choice with reorders, or the arrays as they are.
class DnnlConvolution {
  public:
    DnnlConvolution(const Layer& l, const Array& X, const Array& W, const Array& Y, bool is_plain)
        : is_plain_(is_plain), X_(X), W_(W), Y_(Y) {
        const auto dims = [](const Array& a) {
            return dnnl::memory::dims(a.shape().begin(), a.shape().end());
        };
        weights_ = dims(W);
        if (l.is_depthwise) weights_ = {l.in, 1, 1, l.kernel, l.kernel};
        x_ = describe(dims(X));
        w_ = describe(weights_);
        y_ = describe(dims(Y));
        strides_ = {l.stride, l.stride};
        pad_ = {l.pad, l.pad};
        dilation_ = {l.dilation - 1, l.dilation - 1};
        forward_ = std::make_unique<dnnl::convolution_forward::primitive_desc>(
            dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training,
                                            dnnl::algorithm::convolution_direct, x_, w_, y_,
                                            strides_, dilation_, pad_, pad_),
            engine());
    }

    std::vector<DnnlStep> steps(Pass pass) {
        switch (pass) {
            case Pass::forward: {
                begin();
                const auto src = in(X_, {}, forward_->src_desc());
                const auto weights = in(W_, weights_, forward_->weights_desc());
                const auto dst = out(Y_, {}, forward_->dst_desc());
                return finish(
                    dnnl::convolution_forward(*forward_),
                    {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}});
            }
            case Pass::input: {
                const dnnl::convolution_backward_data::primitive_desc pd(
                    dnnl::convolution_backward_data::desc(dnnl::algorithm::convolution_direct, x_,
                                                          w_, y_, strides_, dilation_, pad_, pad_),
                    engine(), *forward_);
                begin();
                const auto dst = in(Y_, {}, pd.diff_dst_desc());
                const auto weights = in(W_, weights_, pd.weights_desc());
                const auto src = out(X_, {}, pd.diff_src_desc());
                return finish(dnnl::convolution_backward_data(pd), {{DNNL_ARG_DIFF_DST, dst},
                                                                    {DNNL_ARG_WEIGHTS, weights},
                                                                    {DNNL_ARG_DIFF_SRC, src}});
            }
            case Pass::weights: break;
        }
        const dnnl::convolution_backward_weights::primitive_desc pd(
            dnnl::convolution_backward_weights::desc(dnnl::algorithm::convolution_direct, x_, w_,
                                                     y_, strides_, dilation_, pad_, pad_),
            engine(), *forward_);
        begin();
        const auto src = in(X_, {}, pd.src_desc());
        const auto dst = in(Y_, {}, pd.diff_dst_desc());
        const auto weights = out(W_, weights_, pd.diff_weights_desc());
        return finish(
            dnnl::convolution_backward_weights(pd),
            {{DNNL_ARG_SRC, src}, {DNNL_ARG_DIFF_DST, dst}, {DNNL_ARG_DIFF_WEIGHTS, weights}});
    }

  private:
    [[nodiscard]] dnnl::memory::desc describe(const dnnl::memory::dims& shape) const {
        if (!is_plain_) return any(shape);
        dnnl::memory::dims steps(shape.size(), 1);
        for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
        return {shape, dnnl::memory::data_type::f32, steps};
    }
    void begin() {
        before_.clear();
        after_.clear();
    }
    dnnl::memory in(const Array& array, const dnnl::memory::dims& shape,
                    const dnnl::memory::desc& wanted) {
        const dnnl::memory from = memory(array, shape);
        if (from.get_desc() == wanted) return from;
        dnnl::memory to(wanted, engine());
        before_.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
        return to;
    }
    dnnl::memory out(const Array& array, const dnnl::memory::dims& shape,
                     const dnnl::memory::desc& wanted) {
        const dnnl::memory to = memory(array, shape);
        if (to.get_desc() == wanted) return to;
        dnnl::memory from(wanted, engine());
        after_.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
        return from;
    }
    std::vector<DnnlStep> finish(dnnl::primitive primitive, DnnlArguments arguments) {
        std::vector<DnnlStep> steps = std::move(before_);
        steps.push_back({std::move(primitive), std::move(arguments)});
        steps.insert(steps.end(), after_.begin(), after_.end());
        return steps;
    }

    bool is_plain_;
    Array X_, W_, Y_;
    dnnl::memory::dims weights_, strides_, dilation_, pad_;
    dnnl::memory::desc x_, w_, y_;
    std::unique_ptr<dnnl::convolution_forward::primitive_desc> forward_;
    std::vector<DnnlStep> before_, after_;
};

Workload make(const Layer& l, Pass pass, std::int64_t shrink) {
    const std::int64_t batch = shrink > 1 ? 2 : l.batch;
    const std::int64_t in = shrink > 1 ? std::min<std::int64_t>(l.in, 5) : l.in;
    const std::int64_t out = l.is_depthwise ? in : shrink > 1 ? 6 : l.out;
    const std::int64_t size = shrink > 1 ? std::min<std::int64_t>(l.size, 19 + l.kernel) : l.size;
    const std::int64_t y = size_out(l, size);
    const auto X = randn("X", {batch, in, size, size});
    const auto W = randn("W", {out, l.is_depthwise ? 1 : in, l.kernel, l.kernel});
    const auto dY = randn("dY", {batch, out, y, y});
    Workload w{.program = program(l), .arguments = {X, W, dY}};
    if (pass == Pass::forward) w.arguments.pop_back();
    if (pass == Pass::input) w.wrt = {"X"};
    if (pass == Pass::weights) w.wrt = {"W"};
    w.goal = {Goal::Kind::ratio, l.goal[std::size_t(pass)]};
    w.tolerance = 1e-3;
    const double points =
        double(batch * out * y * y * (l.is_depthwise ? 1 : in) * l.kernel * l.kernel);
    w.limit = {Limit::Kind::fma, 2 * points};
    if (shrink > 1) return w;
    for (const bool is_plain : {false, true}) {
        const Array result(DType::f32, pass == Pass::forward ? dY.second.shape()
                                       : pass == Pass::input ? X.second.shape()
                                                             : W.second.shape());
        DnnlConvolution peer(l, pass == Pass::input ? result : X.second,
                             pass == Pass::weights ? result : W.second,
                             pass == Pass::forward ? result : dY.second, is_plain);
        w.peers.push_back(
            {is_plain ? "oneDNN plain" : "oneDNN reord.", in_order(peer.steps(pass)), result});
    }
    return w;
}

void add_layer(Suite& suite, const char* row, const Layer& layer) {
    for (const Pass pass : {Pass::forward, Pass::input, Pass::weights}) {
        const char* names[] = {"forward", "dX", "dW"};
        suite.add(row, format("{} {}", layer.name, names[std::size_t(pass)]),
                  [&layer, pass](std::int64_t shrink) { return make(layer, pass, shrink); });
    }
}

}  // namespace

void add_convolutions(Suite& suite) {
    for (const Layer& layer : layers) add_layer(suite, "convolution", layer);
}

void add_other_convolutions(Suite& suite) {
    const auto add = [&](Layer layer, bool is_depthwise) {
        layer.is_depthwise = is_depthwise;
        const std::string name =
            format("{}{}x{}{}{} {}-{} of {}", is_depthwise ? "depthwise " : "", layer.kernel,
                   layer.kernel, layer.stride > 1 ? format(" s{}", layer.stride) : "",
                   layer.dilation > 1 ? format(" d{}", layer.dilation) : "", layer.in, layer.out,
                   layer.size);
        layer.name = name.c_str();
        add_layer(suite, "other", layer);
    };
    for (const Layer& layer : other_layers) add(layer, false);
    for (const Layer& layer : other_depthwise_layers) add(layer, true);
}

}  // namespace bench
