// bench/cpu/layers.cpp – layers as a user writes them: linear with activation, distances, kernels
#include "base/text.h"
#include "runtime/cpu_rates.h"
#include "runtime/executor.h"

#include "bench/cpu/peers.h"

namespace bench {
namespace {

using namespace ricci;

constexpr std::int64_t rows = 1024;
constexpr std::int64_t inputs = 784;
constexpr std::int64_t outputs = 1024;

/// oneDNN's primitives one after the other for `relu(X W^T + b)`.
class DnnlLinear {
  public:
    explicit DnnlLinear(const Workload& w)
        : X_(w.arguments[0].second),
          W_(w.arguments[1].second),
          b_(w.arguments[2].second),
          Y_(X_.dtype(), {X_.shape()[0], W_.shape()[0]}),
          dZ_(X_.dtype(), Y_.shape()) {}

    std::vector<DnnlStep> forward() {
        const auto k = X_.shape()[1];
        const auto o = W_.shape()[0];
        const dnnl::memory::desc weights({k, o}, plain(W_).data_type(), dnnl::memory::dims{1, k});
        dnnl::post_ops activation;
        activation.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(activation);
        const dnnl::matmul::primitive_desc pd(
            dnnl::matmul::desc(plain(X_), weights, plain(b_, {1, o}), plain(Y_)), attributes,
            engine());
        return {{dnnl::matmul(pd),
                 {{DNNL_ARG_SRC, memory(X_)},
                  {DNNL_ARG_WEIGHTS, {weights, engine(), const_cast<void*>(W_.data())}},
                  {DNNL_ARG_BIAS, memory(b_, {1, o})},
                  {DNNL_ARG_DST, memory(Y_)}}}};
    }
    /// The derivative of the activation from its result, then both products and the sum.
    std::vector<DnnlStep> backward(const Array& dY, const Array& dX, const Array& dW,
                                   const Array& db) {
        std::vector<DnnlStep> steps = forward();
        const dnnl::eltwise_forward::primitive_desc hint(
            {dnnl::prop_kind::forward_training, dnnl::algorithm::eltwise_relu_use_dst_for_bwd,
             plain(Y_), 0, 0},
            engine());
        const dnnl::eltwise_backward::primitive_desc pd(
            {dnnl::algorithm::eltwise_relu_use_dst_for_bwd, plain(Y_), plain(Y_), 0, 0}, engine(),
            hint);
        steps.push_back({dnnl::eltwise_backward(pd),
                         {{DNNL_ARG_DST, memory(Y_)},
                          {DNNL_ARG_DIFF_DST, memory(dY)},
                          {DNNL_ARG_DIFF_SRC, memory(dZ_)}}});
        if (dX.size() > 0) {
            const dnnl::matmul::primitive_desc product({plain(dZ_), plain(W_), plain(dX)},
                                                       engine());
            steps.push_back({dnnl::matmul(product),
                             {{DNNL_ARG_SRC, memory(dZ_)},
                              {DNNL_ARG_WEIGHTS, memory(W_)},
                              {DNNL_ARG_DST, memory(dX)}}});
        }
        if (dW.size() > 0) {
            const auto n = dZ_.shape()[0];
            const auto o = dZ_.shape()[1];
            const dnnl::memory::desc turned({o, n}, dnnl::memory::data_type::f32,
                                            dnnl::memory::dims{1, o});
            const dnnl::matmul::primitive_desc product({turned, plain(X_), plain(dW)}, engine());
            steps.push_back({dnnl::matmul(product),
                             {{DNNL_ARG_SRC, {turned, engine(), const_cast<void*>(dZ_.data())}},
                              {DNNL_ARG_WEIGHTS, memory(X_)},
                              {DNNL_ARG_DST, memory(dW)}}});
        }
        if (db.size() > 0) {
            const dnnl::reduction::primitive_desc sum(
                {dnnl::algorithm::reduction_sum, plain(dZ_), plain(db, {1, db.size()}), 0, 0},
                engine());
            steps.push_back(
                {dnnl::reduction(sum),
                 {{DNNL_ARG_SRC, memory(dZ_)}, {DNNL_ARG_DST, memory(db, {1, db.size()})}}});
        }
        return steps;
    }
    [[nodiscard]] const Array& Y() const { return Y_; }

  private:
    Array X_, W_, b_, Y_, dZ_;
};

Workload linear(std::int64_t shrink, DType dtype = DType::f32) {
    const std::int64_t n = rows / shrink;
    const std::int64_t k = inputs / shrink;
    const std::int64_t o = outputs / shrink;
    Workload w{.program = "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
               .arguments = {randn("X", {n, k}, dtype), randn("W", {o, k}, dtype),
                             randn("b", {o}, dtype), randn("dY", {n, o}, dtype)}};
    w.goal = {Goal::Kind::ratio, 1.1};
    w.limit = {Limit::Kind::fma, 2.0 * double(n * k * o)};
    return w;
}

void add_linear(Suite& suite) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
        const bool is_bf16 = dtype == DType::bf16;
        if (is_bf16 && (!ricci::runtime::has_bf16_pairs() || is_held_to_avx2())) continue;
        suite.add("linear", is_bf16 ? "forward bf16" : "forward", [=](std::int64_t shrink) {
            Workload w = linear(shrink, dtype);
            w.arguments.pop_back();
            if (is_bf16) {
                w.goal.value = 1;
                w.limit.kind = ricci::runtime::target().has_bf16_tiles ? Limit::Kind::tiles
                                                                       : Limit::Kind::bf16;
                w.tolerance = 1e-2;  // of results that are rounded to 8 bits
            }
            if (shrink > 1) return w;
            DnnlLinear peer(w);
            w.peers = {{"oneDNN", in_order(peer.forward()), peer.Y()}};
            return w;
        });
    }
    struct Pass {
        const char* name;
        std::vector<std::string> wrt;
        double products;
    };
    for (const Pass& pass : {Pass{"dX (forward computed again)", {"X"}, 2},
                             Pass{"dW (forward computed again)", {"W"}, 2},
                             Pass{"db (forward computed again)", {"b"}, 1},
                             Pass{"dX, dW, db together", {"X", "W", "b"}, 3}})
        suite.add("linear", pass.name, [=](std::int64_t shrink) {
            Workload w = linear(shrink);
            w.wrt = pass.wrt;
            w.limit.amount *= pass.products;
            w.tolerance = 1e-2;  // one rounding may send an element over the kink
            if (shrink > 1) return w;
            const auto wants = [&](const char* name) {
                return std::find(w.wrt.begin(), w.wrt.end(), name) != w.wrt.end();
            };
            const Array none;
            const Array dX = wants("X") ? Array(DType::f32, {rows, inputs}) : none;
            const Array dW = wants("W") ? Array(DType::f32, {outputs, inputs}) : none;
            const Array db = wants("b") ? Array(DType::f32, {outputs}) : none;
            DnnlLinear peer(w);
            w.peers = {{"oneDNN", in_order(peer.backward(w.arguments[3].second, dX, dW, db)),
                        wants("X")   ? dX
                        : wants("W") ? dW
                                     : db}};
            return w;
        });
}

/// Programs whose points are a subtraction and a multiplication with addition, or the like.
void add_slots(Suite& suite) {
    struct Case {
        const char* name;
        const char* program;
        const char* wrt;
        double goal;
        bool is_expanded;
    };
    const char* distance = "D[i,j] := (w[k,i] - x[k,j])^2";
    for (const Case& c :
         {Case{"forward", distance, "", 0.92, false}, Case{"dw", distance, "w", 0.92, false},
          Case{"dx", distance, "x", 0.92, false},
          Case{"tropical", "D[i,j] := max[k](w[k,i] + x[k,j])", "", 0.9, false},
          // A product by a library and row sums written by hand are at 0.84 of the limit.
          Case{"forward expanded", distance, "", 0.84, true},
          Case{"dw expanded", distance, "w", 0.84, true},
          Case{"dx expanded", distance, "x", 0.84, true}})
        suite.add("dist", c.name, [=](std::int64_t shrink) {
            const std::int64_t i = 1024 / shrink;
            const std::int64_t k = 784 / shrink;
            Workload w{.program = c.program, .arguments = {randn("w", {k, i}), randn("x", {k, i})}};
            if (c.wrt[0] != '\0') {
                w.wrt = {c.wrt};
                w.arguments.push_back(randn("dD", {i, i}));
            }
            w.goal = {Goal::Kind::fraction, c.goal};
            w.is_expanded = c.is_expanded;
            w.limit = {Limit::Kind::distance, 3.0 * double(i * i * k)};
            if (c.is_expanded) w.limit = {Limit::Kind::fma, 2.0 * double(i * i * k)};
            return w;
        });
    suite.add("dist", "gaussian kernel sum 8192 x 8192 x 3", [](std::int64_t shrink) {
        const std::int64_t n = 8192 / shrink;
        Workload w{
            .program = "s[i] := exp(-((x[i,0]-y[j,0])^2+(x[i,1]-y[j,1])^2+(x[i,2]-y[j,2])^2))*b[j]",
            .arguments = {randn("x", {n, 3}), randn("y", {n, 3}), randn("b", {n})}};
        w.goal = {Goal::Kind::fraction, 0.9};
        // Three subtractions, squares and sums, and an exponential of 12 slots and its product:
        // 19 slots a point, of which the distance has two for three operations; eleven are
        // multiply-adds and products.
        w.limit = {Limit::Kind::distance, 1.5 * 19 * double(n * n), 2.0 * 11 * double(n * n)};
        return w;
    });
}

}  // namespace

void add_layers(Suite& suite) {
    add_linear(suite);
    add_slots(suite);
}

}  // namespace bench
