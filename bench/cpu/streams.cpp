// bench/cpu/streams.cpp – passes over memory: bias gradients, statistics, chains, permutations,
// gathers; goals are fractions of what memory can do in the same rounds
#include "base/text.h"

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
    double goal;                     ///< of the limit
    const char* torch = nullptr;     ///< PyTorch's expression
    double torch_goal = 0;           ///< a ratio that is the goal instead
    std::int64_t rows_of_index = 0;  ///< of the array that `J` points to
};

Array keys(std::int64_t count, std::int64_t below) {
    return Array::randint(DType::i32, {count}, 0, below, 11);
}

void add_stream(Suite& suite, const Stream& s) {
    suite.add(s.row, s.name, [&](std::int64_t shrink) {
        Workload w{.program = s.program, .arguments = {}};
        for (const auto& [name, shape] : s.arguments) {
            Shape small = shape;
            if (shrink > 1)
                for (std::int64_t& extent : small) extent = std::min<std::int64_t>(extent, 9);
            if (std::string(name) == "J")
                w.arguments.emplace_back(name, keys(small[0], shrink > 1 ? 9 : s.rows_of_index));
            else
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
    const std::int64_t rows = 65536;
    const double g = double(rows) * 256;
    add_stream(suite, {"gather",
                       "rows 65536 x 256",
                       "y[i,k] := A[J[i],k]",
                       {{"A", {50000, 256}}, {"J", {rows}}},
                       {},
                       copy(2 * g),
                       0.9,
                       "torch.index_select(A, 0, J)",
                       0,
                       50000});
    add_stream(suite, {"gather",
                       "its gradient",
                       "y[i,k] := A[J[i],k]",
                       {{"A", {50000, 256}}, {"J", {rows}}, {"dy", {rows, 256}}},
                       {"A"},
                       copy(3 * g),
                       0.9,
                       "torch.index_select(A, 0, J)",
                       0,
                       50000});
    add_stream(suite, {"gather",
                       "segment sum 1 M to 1000",
                       "h[J[i]] += x[i]",
                       {{"h", {1000}}, {"J", {1 << 20}}, {"x", {1 << 20}}},
                       {},
                       read(2.0 * (1 << 20)),
                       0.5,
                       "h.index_add(0, J, x)",
                       0,
                       1000});
}

}  // namespace bench
