// bench/cpu/rows.cpp – softmax, log-softmax, layer norm, log-sum-exp, cross-entropy and their
// gradients on rows of many lengths, against oneDNN and against copying
#include "base/text.h"

#include "bench/cpu/peers.h"
#include "bench/cpu/torch_peer.h"

namespace bench {
namespace {

using namespace ricci;

constexpr std::int64_t elements = 4 << 20;

constexpr const char* softmax_text =
    "m[i] := max[k](X[i,k]); E[i,k] := exp(X[i,k] - m[i]); s[i] := E[i,k]; Y[i,k] := E[i,k]/s[i]";
constexpr const char* log_softmax_text = "Y[i,k] := X[i,k] - logsumexp[l](X[i,l])";
constexpr const char* layer_norm_text =
    "m[i] := mean[k](X[i,k]); v[i] := mean[k]((X[i,k]-m[i])^2); "
    "Y[i,k] := (X[i,k]-m[i])/sqrt(v[i]+0.00001)*g[k] + b[k]";

struct Sizes {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};
Sizes sizes(std::int64_t columns, std::int64_t shrink) {
    return shrink > 1 ? Sizes{5, columns / shrink} : Sizes{elements / columns, columns};
}

Peer softmax_peer(const Array& X, bool is_log) {
    Peer peer{.name = "oneDNN", .run = {}, .result = Array(DType::f32, X.shape())};
    const DnnlArguments arguments{{DNNL_ARG_SRC, memory(X)}, {DNNL_ARG_DST, memory(peer.result)}};
    const auto kind = dnnl::prop_kind::forward_training;
    if (is_log)
        peer.run =
            in_order({{dnnl::logsoftmax_forward({{kind, plain(X), 1}, engine()}), arguments}});
    else
        peer.run = in_order({{dnnl::softmax_forward({{kind, plain(X), 1}, engine()}), arguments}});
    return peer;
}

/// Forward and backward, as ours computes the forward again.
Peer softmax_gradient_peer(const Array& X, const Array& dY, bool is_log) {
    Peer peer{.name = "oneDNN", .run = {}, .result = Array(DType::f32, X.shape())};
    const Array Y(DType::f32, X.shape());
    const auto kind = dnnl::prop_kind::forward_training;
    const DnnlArguments there{{DNNL_ARG_SRC, memory(X)}, {DNNL_ARG_DST, memory(Y)}};
    const DnnlArguments back{{DNNL_ARG_DST, memory(Y)},
                             {DNNL_ARG_DIFF_DST, memory(dY)},
                             {DNNL_ARG_DIFF_SRC, memory(peer.result)}};
    if (is_log) {
        const dnnl::logsoftmax_forward::primitive_desc pd({kind, plain(X), 1}, engine());
        const dnnl::logsoftmax_backward::primitive_desc backward({plain(X), plain(X), 1}, engine(),
                                                                 pd);
        peer.run = in_order(
            {{dnnl::logsoftmax_forward(pd), there}, {dnnl::logsoftmax_backward(backward), back}});
    } else {
        const dnnl::softmax_forward::primitive_desc pd({kind, plain(X), 1}, engine());
        const dnnl::softmax_backward::primitive_desc backward({plain(X), plain(X), 1}, engine(),
                                                              pd);
        peer.run = in_order(
            {{dnnl::softmax_forward(pd), there}, {dnnl::softmax_backward(backward), back}});
    }
    return peer;
}

void add_softmax(Suite& suite, std::int64_t columns, bool is_log) {
    const char* name = is_log ? "log-softmax" : "softmax";
    const char* text = is_log ? log_softmax_text : softmax_text;
    const char* torch = is_log ? "torch.log_softmax(X, 1)" : "torch.softmax(X, 1)";
    const auto make = [=](std::int64_t shrink) {
        const Sizes s = sizes(columns, shrink);
        Workload w{.program = text, .arguments = {randn("X", {s.rows, s.columns})}};
        w.goal = {Goal::Kind::ratio, 1.15};
        w.limit = {Limit::Kind::copy, 8.0 * double(s.rows * s.columns)};
        return w;
    };
    suite.add("rows", format("{} {}", name, columns), [=](std::int64_t shrink) {
        Workload w = make(shrink);
        if (shrink > 1) return w;
        w.peers = {softmax_peer(w.arguments[0].second, is_log)};
        add_torch_peer(w, torch);
        return w;
    });
    suite.add("rows", format("{} {} dX", name, columns), [=](std::int64_t shrink) {
        Workload w = make(shrink);
        w.arguments.push_back(randn("dY", w.arguments[0].second.shape()));
        w.wrt = {"X"};
        w.limit.amount *= 1.5;
        if (shrink > 1) return w;
        w.peers = {softmax_gradient_peer(w.arguments[0].second, w.arguments[1].second, is_log)};
        add_torch_peer(w, torch);
        return w;
    });
}

/// oneDNN's layer norm; with a cotangent its backward, too.
Peer layer_norm_peer(const Workload& w, bool is_gradient) {
    const Array& X = w.arguments[0].second;
    const Array& g = w.arguments[1].second;
    const Array& b = w.arguments[2].second;
    Peer peer{.name = "oneDNN", .run = {}, .result = Array(DType::f32, X.shape())};
    const Array Y = is_gradient ? Array(DType::f32, X.shape()) : peer.result;
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc pd(
        {dnnl::prop_kind::forward_training, plain(X), 1e-5F, flags}, engine());
    const dnnl::memory mean(pd.mean_desc(), engine());
    const dnnl::memory variance(pd.variance_desc(), engine());
    std::vector<DnnlStep> steps = {{dnnl::layer_normalization_forward(pd),
                                    {{DNNL_ARG_SRC, memory(X)},
                                     {DNNL_ARG_SCALE, memory(g)},
                                     {DNNL_ARG_SHIFT, memory(b)},
                                     {DNNL_ARG_MEAN, mean},
                                     {DNNL_ARG_VARIANCE, variance},
                                     {DNNL_ARG_DST, memory(Y)}}}};
    if (is_gradient) {
        const Array dg(DType::f32, g.shape());
        const Array db(DType::f32, b.shape());
        const dnnl::layer_normalization_backward::primitive_desc back(
            {dnnl::prop_kind::backward, plain(X), plain(X), 1e-5F, flags}, engine(), pd);
        steps.push_back({dnnl::layer_normalization_backward(back),
                         {{DNNL_ARG_SRC, memory(X)},
                          {DNNL_ARG_DIFF_DST, memory(w.arguments[3].second)},
                          {DNNL_ARG_SCALE, memory(g)},
                          {DNNL_ARG_SHIFT, memory(b)},
                          {DNNL_ARG_MEAN, mean},
                          {DNNL_ARG_VARIANCE, variance},
                          {DNNL_ARG_DIFF_SRC, memory(peer.result)},
                          {DNNL_ARG_DIFF_SCALE, memory(dg)},
                          {DNNL_ARG_DIFF_SHIFT, memory(db)}}});
    }
    peer.run = in_order(std::move(steps));
    return peer;
}

void add_layer_norm(Suite& suite, std::int64_t columns, bool is_gradient) {
    suite.add("rows", format("layer norm {}{}", columns, is_gradient ? " dX, dg, db" : ""),
              [=](std::int64_t shrink) {
                  const Sizes s = sizes(columns, shrink);
                  Workload w{.program = layer_norm_text,
                             .arguments = {randn("X", {s.rows, s.columns}), randn("g", {s.columns}),
                                           randn("b", {s.columns})}};
                  w.limit = {Limit::Kind::copy, 8.0 * double(s.rows * s.columns)};
                  if (is_gradient) {
                      w.arguments.push_back(randn("dY", {s.rows, s.columns}));
                      w.wrt = {"X", "g", "b"};
                      w.limit.amount *= 1.5;
                  }
                  w.tolerance = 1e-3;
                  if (shrink > 1) return w;
                  w.peers = {layer_norm_peer(w, is_gradient)};
                  add_torch_peer(w, format("torch.layer_norm(X, ({},), g, b)", columns));
                  return w;
              });
}

/// What a library does not have as one primitive: against PyTorch's operations.
void add_losses(Suite& suite, const char* name, std::int64_t columns, const char* text,
                const char* wrt, double bytes_of_element, Limit::Kind kind, const char* torch,
                double goal) {
    suite.add("rows", format("{} {}", name, columns), [=](std::int64_t shrink) {
        const Sizes s = sizes(columns, shrink);
        Workload w{.program = text, .arguments = {randn("X", {s.rows, s.columns})}};
        if (std::string(text).find("T[") != std::string::npos)
            w.arguments.push_back({"T", Array::randint(DType::i32, {s.rows}, 0, s.columns, 5)});
        if (wrt[0] != '\0') {
            w.wrt = {wrt};
            const bool is_row = std::string(text).find("y[i]") != std::string::npos;
            w.arguments.push_back(is_row ? randn("dy", {s.rows}) : randn("dL", {}));
        }
        w.goal = {Goal::Kind::ratio, goal};
        w.limit = {kind, bytes_of_element * double(s.rows * s.columns)};
        w.tolerance = 1e-3;
        if (shrink == 1) add_torch_peer(w, torch);
        return w;
    });
}

}  // namespace

void add_rows(Suite& suite) {
    for (const std::int64_t columns : {64, 256, 1024, 4096, 16384}) {
        add_softmax(suite, columns, false);
        add_softmax(suite, columns, true);
        add_layer_norm(suite, columns, false);
        add_layer_norm(suite, columns, true);
        const char* sums = "y[i] := logsumexp[k](X[i,k])";
        const char* torch_sums = "torch.logsumexp(X, 1)";
        add_losses(suite, "log-sum-exp", columns, sums, "", 4, Limit::Kind::read, torch_sums, 2.5);
        add_losses(suite, "log-sum-exp dX", columns, sums, "X", 8, Limit::Kind::copy, torch_sums,
                   2.5);
        const char* loss = "L := mean[i](logsumexp[k](X[i,k]) - X[i,T[i]])";
        const char* torch_loss = "torch.nn.functional.cross_entropy(X, T.long())";
        add_losses(suite, "cross-entropy", columns, loss, "", 4, Limit::Kind::read, torch_loss,
                   1.15);
        add_losses(suite, "cross-entropy dX", columns, loss, "X", 8, Limit::Kind::copy, torch_loss,
                   1.15);
    }
}

}  // namespace bench
