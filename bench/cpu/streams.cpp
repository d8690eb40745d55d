// bench/cpu/streams.cpp – passes over memory: bias gradients, statistics, chains, permutations,
// gathers; goals are fractions of what memory can do in the same rounds
#include "base/text.h"

#include "bench/cpu/gather_loops.h"
#include "bench/cpu/torch_peer.h"

namespace bench {
namespace {

using namespace ricci;

struct Stream {
    const char* row;
    const char* name;
    const char* program;
    std::vector<std::pair<const char*, Shape>> arguments;
    std::vector<std::string> wrt;
    Limit limit;
    double goal;                  ///< of the limit
    const char* torch = nullptr;  ///< PyTorch's expression
    double torch_goal = 0;        ///< a ratio that is the goal instead
};

void add_stream(Suite& suite, const Stream& s) {
    suite.add(s.row, s.name, [&](std::int64_t shrink) {
        Workload w{.program = s.program, .arguments = {}};
        for (const auto& [name, shape] : s.arguments) {
            Shape small = shape;
            if (shrink > 1)
                for (std::int64_t& extent : small) extent = std::min<std::int64_t>(extent, 9);
            w.arguments.push_back(randn(name, small));
        }
        w.wrt = s.wrt;
        w.goal = {Goal::Kind::fraction, s.goal};
        if (s.torch_goal > 0) w.goal = {Goal::Kind::ratio, s.torch_goal};
        w.limit = s.limit;
        w.tolerance = 1e-3;
        if (shrink == 1 && s.torch != nullptr) add_torch_peer(w, s.torch);
        return w;
    });
}

Limit read(double elements) { return {Limit::Kind::read, 4 * elements}; }
/// Of so many elements read and written in all.
Limit copy(double elements) { return {Limit::Kind::copy, 4 * elements}; }

const float* floats(const Array& array) { return static_cast<const float*>(array.data()); }

/// Rows and elements at places that are data, against loops written by hand.
void add_gathers(Suite& suite) {
    const auto keys = [](std::int64_t count, std::int64_t below) {
        return std::pair<std::string, Array>("J",
                                             Array::randint(DType::i32, {count}, 0, below, 11));
    };
    const auto add = [&](const char* name, const std::function<Workload(std::int64_t)>& make) {
        suite.add("gather", name, [make](std::int64_t shrink) {
            Workload w = make(shrink);
            w.tolerance = 1e-3;
            return w;
        });
    };
    const auto loops = [](Shape shape, const std::function<void(float*)>& run) {
        Peer peer{.name = "by hand", .run = {}, .result = Array(DType::f32, std::move(shape))};
        auto* to = const_cast<float*>(floats(peer.result));
        peer.run = [run, to] { run(to); };
        return peer;
    };
    for (const bool is_gradient : {false, true})
        add(is_gradient ? "its gradient" : "rows 65536 x 256", [=](std::int64_t shrink) {
            const std::int64_t rows = shrink > 1 ? 9 : 65536;
            const std::int64_t table = shrink > 1 ? 7 : 50000;
            const std::int64_t columns = 256;
            Workload w{.program = "y[i,k] := A[J[i],k]",
                       .arguments = {randn("A", {table, columns}), keys(rows, table)}};
            if (is_gradient) {
                w.wrt = {"A"};
                w.arguments.push_back(randn("dy", {rows, columns}));
            }
            w.limit = copy((is_gradient ? 3.0 : 2.0) * double(rows * columns));
            if (shrink > 1) return w;
            const Array A = w.arguments[0].second;
            const Array J = w.arguments[1].second;
            const Array dy = w.arguments.back().second;
            const auto* at = static_cast<const std::int32_t*>(J.data());
            if (is_gradient)
                w.peers = {loops({table, columns}, [=](float* dA) {
                    gather_rows_gradient(rows, columns, table, at, floats(dy), dA);
                })};
            else
                w.peers = {loops({rows, columns},
                                 [=](float* y) { gather_rows(rows, columns, floats(A), at, y); })};
            return w;
        });
    for (const bool is_count : {false, true})
        add(is_count ? "histogram 1 M to 1000" : "segment sum 1 M to 1000",
            [=](std::int64_t shrink) {
                const std::int64_t count = shrink > 1 ? 50 : 1 << 20;
                const std::int64_t bins = shrink > 1 ? 9 : 1000;
                Workload w{.program = is_count ? "h[J[i]] += 1" : "h[J[i]] += x[i]",
                           .arguments = {randn("h", {bins}), keys(count, bins)}};
                if (!is_count) w.arguments.push_back(randn("x", {count}));
                w.limit = read((is_count ? 1.0 : 2.0) * double(count));
                if (shrink > 1) return w;
                const Array h = w.arguments[0].second.copy();
                const Array J = w.arguments[1].second;
                const Array x = w.arguments.back().second;
                const auto* at = static_cast<const std::int32_t*>(J.data());
                w.peers = {loops({bins}, [=](float* to) {
                    if (is_count)
                        histogram(count, bins, at, floats(h), to);
                    else
                        segment_sum(count, bins, at, floats(x), floats(h), to);
                })};
                return w;
            });
}

}  // namespace

void add_streams(Suite& suite) {
    for (const std::int64_t batch : {1, 16, 128, 1000}) {
        const std::string name = format("db, 64x28x28, batch {}", batch);
        const double n = double(batch) * 64 * 28 * 28;
        add_stream(suite, {"sums",
                           name.c_str(),
                           "Y[n,c,h,w] := X[n,c,h,w] + b[c]",
                           {{"X", {batch, 64, 28, 28}}, {"b", {64}}, {"dY", {batch, 64, 28, 28}}},
                           {"b"},
                           read(n),
                           0.95});
    }
    const double images = 128.0 * 64 * 28 * 28;
    add_stream(suite, {"sums",
                       "sum of 6.4 M",
                       "s := X[n,c,h,w]",
                       {{"X", {128, 64, 28, 28}}},
                       {},
                       read(images),
                       0.95,
                       "X.sum()"});
    add_stream(suite, {"sums",
                       "batch-norm mean, variance",
                       "m[c] := mean[n,h,w](X[n,c,h,w]); v[c] := mean[n,h,w]((X[n,c,h,w]-m[c])^2)",
                       {{"X", {128, 64, 28, 28}}},
                       {},
                       read(2 * images),
                       0.95});
    const std::int64_t m = 16 << 20;
    const double M = double(m);
    add_stream(suite, {"pointwise",
                       "tanh(a*b+c) 16 M",
                       "y[i] := tanh(a[i]*b[i]+c[i])",
                       {{"a", {m}}, {"b", {m}}, {"c", {m}}},
                       {},
                       copy(4 * M),
                       0.7,
                       "torch.tanh(torch.addcmul(c, a, b))",
                       2.0});
    add_stream(suite, {"pointwise",
                       "a*b+c 16 M",
                       "y[i] := a[i]*b[i]+c[i]",
                       {{"a", {m}}, {"b", {m}}, {"c", {m}}},
                       {},
                       copy(4 * M),
                       0.9,
                       "torch.addcmul(c, a, b)"});
    add_stream(suite, {"pointwise",
                       "chain of 8, 16 M",
                       "y[i] := relu((a[i]-b[i])*2+a[i]*b[i]-0.5*max(a[i],b[i])+1)",
                       {{"a", {m}}, {"b", {m}}},
                       {},
                       copy(3 * M),
                       0.9});
    add_stream(suite, {"permute",
                       "4096^2",
                       "y[j,i] := x[i,j]",
                       {{"x", {4096, 4096}}},
                       {},
                       copy(2 * M),
                       0.9,
                       "x.permute(1, 0).contiguous()",
                       3});
    const double n4 = 64.0 * 56 * 56 * 64;
    add_stream(suite, {"permute",
                       "NHWC to NCHW",
                       "y[n,c,h,w] := x[n,h,w,c]",
                       {{"x", {64, 56, 56, 64}}},
                       {},
                       copy(2 * n4),
                       0.9,
                       "x.permute(0, 3, 1, 2).contiguous()",
                       3});
    add_stream(suite, {"permute",
                       "NCHW to NHWC",
                       "y[n,h,w,c] := x[n,c,h,w]",
                       {{"x", {64, 64, 56, 56}}},
                       {},
                       copy(2 * n4),
                       0.9,
                       "x.permute(0, 2, 3, 1).contiguous()",
                       3});
    add_stream(suite, {"permute",
                       "reversed 4",
                       "y[d,c,b,a] := x[a,b,c,d]",
                       {{"x", {64, 56, 56, 64}}},
                       {},
                       copy(2 * n4),
                       0.9,
                       "x.permute(3, 2, 1, 0).contiguous()",
                       3});
    add_stream(suite, {"permute",
                       "reversed 5",
                       "y[e,d,c,b,a] := x[a,b,c,d,e]",
                       {{"x", {24, 32, 24, 32, 24}}},
                       {},
                       copy(2.0 * 24 * 32 * 24 * 32 * 24),
                       0.9,
                       "x.permute(4, 3, 2, 1, 0).contiguous()",
                       3});
    add_gathers(suite);
}

}  // namespace bench
