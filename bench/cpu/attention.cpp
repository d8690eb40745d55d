// bench/cpu/attention.cpp – attention in statements, forward and backward, against oneDNN's
// products and softmax one after the other and PyTorch
#include "base/text.h"

#include "bench/cpu/peers.h"
#include "bench/cpu/torch_peer.h"

namespace bench {
namespace {

using namespace ricci;

constexpr const char* full =
    "S[b,q,k] := Q[b,q,d]*K[b,k,d]/8; m[b,q] := max[k](S[b,q,k]); "
    "E[b,q,k] := exp(S[b,q,k]-m[b,q]); s[b,q] := E[b,q,k]; P[b,q,k] := E[b,q,k]/s[b,q]; "
    "Y[b,q,e] := P[b,q,k]*V[b,k,e]";
constexpr const char* causal =
    "S[b,q,k] := Q[b,q,d]*K[b,k,d]/8; m[b,q] := max[k | k <= q](S[b,q,k]); "
    "E[b,q,k] := k <= q ? exp(S[b,q,k]-m[b,q]) : 0; s[b,q] := sum[k | k <= q](E[b,q,k]); "
    "Y[b,q,e] := sum[k | k <= q](E[b,q,k]*V[b,k,e])/s[b,q]";

constexpr const char* torch_full = "torch.softmax(Q @ K.transpose(1, 2) * 0.125, 2) @ V";
constexpr const char* torch_causal =
    "torch.softmax((Q @ K.transpose(1, 2) * 0.125).masked_fill("
    "torch.ones(Q.shape[1], Q.shape[1], dtype=torch.bool).triu(1), float('-inf')), 2) @ V";

Workload make(const char* program, std::int64_t shrink) {
    const std::int64_t b = shrink > 1 ? 2 : 64;
    const std::int64_t s = shrink > 1 ? 20 : 512;
    const std::int64_t d = shrink > 1 ? 9 : 64;
    Workload w{.program = program,
               .arguments = {randn("Q", {b, s, d}), randn("K", {b, s, d}), randn("V", {b, s, d})}};
    w.limit = {Limit::Kind::fma, 4.0 * double(b * s * s * d)};
    w.tolerance = 1e-3;
    return w;
}

/// oneDNN: scaled product, softmax, product.
Peer forward_peer(const Workload& w) {
    const Array& Q = w.arguments[0].second;
    const Array& K = w.arguments[1].second;
    const Array& V = w.arguments[2].second;
    const auto b = Q.shape()[0];
    const auto s = Q.shape()[1];
    const auto d = Q.shape()[2];
    Peer peer{.name = "oneDNN", .run = {}, .result = Array(DType::f32, {b, s, d})};
    const Array S(DType::f32, {b, s, s});
    const Array P(DType::f32, {b, s, s});
    const dnnl::memory::desc turned({b, d, s}, dnnl::memory::data_type::f32,
                                    dnnl::memory::dims{s * d, 1, d});
    dnnl::primitive_attr scaled;
    scaled.set_output_scales(0, {0.125F});
    const dnnl::matmul::primitive_desc first({plain(Q), turned, plain(S)}, scaled, engine());
    const dnnl::softmax_forward::primitive_desc soft(
        {dnnl::prop_kind::forward_inference, plain(S), 2}, engine());
    const dnnl::matmul::primitive_desc second({plain(P), plain(V), plain(peer.result)}, engine());
    peer.run = in_order(
        {{dnnl::matmul(first),
          {{DNNL_ARG_SRC, memory(Q)},
           {DNNL_ARG_WEIGHTS, {turned, engine(), const_cast<void*>(K.data())}},
           {DNNL_ARG_DST, memory(S)}}},
         {dnnl::softmax_forward(soft), {{DNNL_ARG_SRC, memory(S)}, {DNNL_ARG_DST, memory(P)}}},
         {dnnl::matmul(second),
          {{DNNL_ARG_SRC, memory(P)},
           {DNNL_ARG_WEIGHTS, memory(V)},
           {DNNL_ARG_DST, memory(peer.result)}}}});
    return peer;
}

}  // namespace

void add_attention(Suite& suite) {
    suite.add("attention", "64 x 512 x 64 forward", [](std::int64_t shrink) {
        Workload w = make(full, shrink);
        w.goal = {Goal::Kind::ratio, 1.7};
        if (shrink > 1) return w;
        w.peers = {forward_peer(w)};
        add_torch_peer(w, torch_full);
        return w;
    });
    suite.add("attention", "64 x 512 x 64 causal", [](std::int64_t shrink) {
        Workload w = make(causal, shrink);
        w.goal = {Goal::Kind::ratio, 1.7};
        if (shrink > 1) return w;
        w.peers = {forward_peer(w)};
        for (Peer& peer : w.peers) peer.result = {};  // of all keys
        add_torch_peer(w, torch_causal);
        return w;
    });
    for (const char* program : {full, causal})
        suite.add("attention", program == full ? "dQ, dK, dV" : "causal dQ, dK, dV",
                  [=](std::int64_t shrink) {
                      Workload w = make(program, shrink);
                      w.arguments.push_back(randn("dY", w.arguments[0].second.shape()));
                      w.wrt = {"Q", "K", "V"};
                      w.goal = {Goal::Kind::ratio, 1.3};
                      w.limit.amount *= 3.5;  // seven products: two forward, five backward
                      if (shrink == 1)
                          add_torch_peer(w, program == full ? torch_full : torch_causal);
                      return w;
                  });
}

}  // namespace bench
