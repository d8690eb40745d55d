// bench/cpu/others.cpp – sizes and layers that the table of goals does not list, against PyTorch:
// rows, sums, permutations, pointwise terms, pooling, normalisation, cells, attention
#include "base/text.h"

#include "bench/cpu/torch_peer.h"

namespace bench {
namespace {

using namespace ricci;

struct Other {
    const char* name;
    const char* program;
    std::vector<std::pair<const char*, Shape>> arguments;
    std::vector<std::string> wrt;
    const char* torch;
    /// What is read and written at least, in elements of f32, or multiply-adds.
    double elements = 0;
    double multiply_adds = 0;
};

constexpr const char* softmax =
    "Y[i,k] := exp(X[i,k]-max[l](X[i,l]))/sum[l](exp(X[i,l]-max[m](X[i,m])))";
constexpr const char* layer_norm =
    "m[i] := mean[k](X[i,k]); v[i] := mean[k]((X[i,k]-m[i])^2); "
    "Y[i,k] := (X[i,k]-m[i])/sqrt(v[i]+0.00001)*g[k] + b[k]";
constexpr const char* rms_norm = "Y[i,k] := X[i,k]*g[k]/sqrt(mean[l](X[i,l]^2)+0.00001)";
constexpr const char* batch_norm =
    "m[c] := mean[n,h,w](X[n,c,h,w]); v[c] := mean[n,h,w]((X[n,c,h,w]-m[c])^2); "
    "Y[n,c,h,w] := (X[n,c,h,w]-m[c])/sqrt(v[c]+0.00001)*g[c] + b[c]";
constexpr const char* torch_batch_norm =
    "torch.nn.functional.batch_norm(X, None, None, g, b, True, 0.1, 1e-5)";
constexpr const char* max_pool = "Y[n,c,y,x] := max[u in 0:2, v in 0:2](X[n,c,2*y+u,2*x+v])";
constexpr const char* overlapping_pool =
    "Y[n,c,y,x] := max[u in 0:3, v in 0:3](X[n,c,2*y+u,2*x+v])";
constexpr const char* average_pool = "Y[n,c,y,x] := sum[u in 0:2, v in 0:2](X[n,c,2*y+u,2*x+v])/4";
constexpr const char* attention =
    "S[b,q,k] := Q[b,q,d]*K[b,k,d]/sqrt(size(Q,2)); "
    "P[b,q,k] := exp(S[b,q,k]-max[l](S[b,q,l]))/sum[l](exp(S[b,q,l]-max[m](S[b,q,m]))); "
    "Y[b,q,e] := P[b,q,k]*V[b,k,e]";
constexpr const char* torch_attention =
    "torch.softmax(Q @ K.transpose(1, 2) / Q.shape[2]**0.5, 2) @ V";
constexpr const char* lstm =
    "z[g,n,h] := W[g,h,k]*x[n,k] + U[g,h,j]*s[n,j] + b[g,h]; "
    "c2[n,h] := sigmoid(z[1,n,h])*c[n,h] + sigmoid(z[0,n,h])*tanh(z[2,n,h]); "
    "y[n,h] := sigmoid(z[3,n,h])*tanh(c2[n,h])";
constexpr const char* torch_lstm =
    "(lambda z: torch.sigmoid(z[3]) * torch.tanh(torch.sigmoid(z[1]) * c + "
    "torch.sigmoid(z[0]) * torch.tanh(z[2])))("
    "torch.matmul(x, W.transpose(1, 2)) + torch.matmul(s, U.transpose(1, 2)) + b[:, None, :])";
constexpr const char* two_layers =
    "h[n,j] := gelu(sum[k](W[j,k]*X[n,k]) + b[j]); Y[n,o] := V[o,j]*h[n,j] + c[o]";
constexpr const char* torch_two_layers =
    "torch.nn.functional.linear(torch.nn.functional.gelu(torch.nn.functional.linear(X, W, b)), V, "
    "c)";

std::vector<Other> rows() {
    std::vector<Other> all;
    for (const auto& [i, k] : {std::pair<std::int64_t, std::int64_t>{100000, 10},
                               {20000, 33},
                               {10000, 100},
                               {4000, 1000},
                               {64, 50257}}) {
        const double n = double(i) * double(k);
        all.push_back({"softmax", softmax, {{"X", {i, k}}}, {}, "torch.softmax(X, 1)", 2 * n});
        all.push_back({"softmax dX",
                       softmax,
                       {{"X", {i, k}}, {"dY", {i, k}}},
                       {"X"},
                       "torch.softmax(X, 1)",
                       3 * n});
        all.push_back({"log-softmax",
                       "Y[i,k] := X[i,k] - logsumexp[l](X[i,l])",
                       {{"X", {i, k}}},
                       {},
                       "torch.log_softmax(X, 1)",
                       2 * n});
        all.push_back(
            {"row maxima", "y[i] := max[k](X[i,k])", {{"X", {i, k}}}, {}, "X.amax(1)", n});
        all.push_back({"row norms",
                       "y[i] := norm[k](X[i,k])",
                       {{"X", {i, k}}},
                       {},
                       "torch.linalg.norm(X, dim=1)",
                       n});
        all.push_back({"row sums", "y[i] := X[i,k]", {{"X", {i, k}}}, {}, "X.sum(1)", n});
        all.push_back({"column sums", "y[k] := X[i,k]", {{"X", {i, k}}}, {}, "X.sum(0)", n});
        all.push_back(
            {"column maxima", "y[k] := max[i](X[i,k])", {{"X", {i, k}}}, {}, "X.amax(0)", n});
        all.push_back({"row argmax",
                       "y[i] := f32(argmax[k](X[i,k]))",
                       {{"X", {i, k}}},
                       {},
                       "X.argmax(1).float()",
                       n});
        all.push_back(
            {"transposed", "y[k,i] := X[i,k]", {{"X", {i, k}}}, {}, "X.t().contiguous()", 2 * n});
        all.push_back({"less row means",
                       "y[i,k] := X[i,k] - mean[l](X[i,l])",
                       {{"X", {i, k}}},
                       {},
                       "X - X.mean(1, True)",
                       2 * n});
    }
    for (const std::int64_t k : {100, 768}) {
        const std::int64_t i = 2000000 / k;
        const double n = double(i) * double(k);
        const std::vector<std::pair<const char*, Shape>> forward = {
            {"X", {i, k}}, {"g", {k}}, {"b", {k}}};
        std::vector<std::pair<const char*, Shape>> backward = forward;
        backward.push_back({"dY", {i, k}});
        const char* torch =
            k == 100 ? "torch.layer_norm(X, (100,), g, b)" : "torch.layer_norm(X, (768,), g, b)";
        all.push_back({"layer norm", layer_norm, forward, {}, torch, 2 * n});
        all.push_back(
            {"layer norm dX, dg, db", layer_norm, backward, {"X", "g", "b"}, torch, 3 * n});
        all.push_back({"RMS norm",
                       rms_norm,
                       {{"X", {i, k}}, {"g", {k}}},
                       {},
                       "X * g * torch.rsqrt((X * X).mean(1, True) + 1e-5)",
                       2 * n});
        all.push_back({"RMS norm dX, dg",
                       rms_norm,
                       {{"X", {i, k}}, {"g", {k}}, {"dY", {i, k}}},
                       {"X", "g"},
                       "X * g * torch.rsqrt((X * X).mean(1, True) + 1e-5)",
                       3 * n});
    }
    return all;
}

std::vector<Other> layers() {
    const Shape image{16, 64, 56, 56};
    const double n = 16.0 * 64 * 56 * 56;
    const Shape pooled{16, 64, 28, 28};
    return {
        {"batch norm",
         batch_norm,
         {{"X", image}, {"g", {64}}, {"b", {64}}},
         {},
         torch_batch_norm,
         3 * n},
        {"batch norm dX, dg, db",
         batch_norm,
         {{"X", image}, {"g", {64}}, {"b", {64}}, {"dY", image}},
         {"X", "g", "b"},
         torch_batch_norm,
         6 * n},
        {"max pool 2x2",
         max_pool,
         {{"X", image}},
         {},
         "torch.nn.functional.max_pool2d(X, 2)",
         1.25 * n},
        {"max pool 2x2 dX",
         max_pool,
         {{"X", image}, {"dY", pooled}},
         {"X"},
         "torch.nn.functional.max_pool2d(X, 2)",
         2.25 * n},
        {"max pool 3x3 s2",
         overlapping_pool,
         {{"X", image}},
         {},
         "torch.nn.functional.max_pool2d(X, 3, 2)",
         1.25 * n},
        {"max pool 3x3 s2 dX",
         overlapping_pool,
         {{"X", image}, {"dY", {16, 64, 27, 27}}},
         {"X"},
         "torch.nn.functional.max_pool2d(X, 3, 2)",
         2.25 * n},
        {"average pool 2x2",
         average_pool,
         {{"X", image}},
         {},
         "torch.nn.functional.avg_pool2d(X, 2)",
         1.25 * n},
        {"average pool 2x2 dX",
         average_pool,
         {{"X", image}, {"dY", pooled}},
         {"X"},
         "torch.nn.functional.avg_pool2d(X, 2)",
         1.25 * n},
        {"global average pool",
         "Y[n,c] := mean[h,w](X[n,c,h,w])",
         {{"X", image}},
         {},
         "X.mean((2, 3))",
         n},
        {"scale and shift",
         "Y[n,c,h,w] := relu(X[n,c,h,w]*g[c] + b[c])",
         {{"X", image}, {"g", {64}}, {"b", {64}}},
         {},
         "torch.relu(torch.addcmul(b[:, None, None], X, g[:, None, None]))",
         2 * n},
        {"scale and shift dX, dg, db",
         "Y[n,c,h,w] := relu(X[n,c,h,w]*g[c] + b[c])",
         {{"X", image}, {"g", {64}}, {"b", {64}}, {"dY", image}},
         {"X", "g", "b"},
         "torch.relu(torch.addcmul(b[:, None, None], X, g[:, None, None]))",
         3 * n},
        {"nearest upsampling",
         "Y[n,c,y,x] := X[n,c,y//2,x//2]",
         {{"X", pooled}},
         {},
         "torch.nn.functional.interpolate(X, scale_factor=2.0)",
         1.25 * n},
        {"nearest upsampling dX",
         "Y[n,c,y,x] := X[n,c,y//2,x//2]",
         {{"X", pooled}, {"dY", image}},
         {"X"},
         "torch.nn.functional.interpolate(X, scale_factor=2.0)",
         1.25 * n},
        {"residual and gelu",
         "Y[n,c,h,w] := X[n,c,h,w] + gelu(Z[n,c,h,w])",
         {{"X", image}, {"Z", image}},
         {},
         "X + torch.nn.functional.gelu(Z)",
         3 * n},
        {"gelu dX",
         "Y[n,c,h,w] := gelu(X[n,c,h,w])",
         {{"X", image}, {"dY", image}},
         {"X"},
         "torch.nn.functional.gelu(X)",
         3 * n},
        {"sigmoid",
         "Y[n,c,h,w] := sigmoid(X[n,c,h,w])",
         {{"X", image}},
         {},
         "torch.sigmoid(X)",
         2 * n},
        {"exp of 1000", "y[i] := exp(x[i])", {{"x", {1000}}}, {}, "torch.exp(x)", 2000},
        {"a*b+c of 1000",
         "y[i] := a[i]*b[i]+c[i]",
         {{"a", {1000}}, {"b", {1000}}, {"c", {1000}}},
         {},
         "torch.addcmul(c, a, b)",
         4000},
        {"a*b+c of 100,000",
         "y[i] := a[i]*b[i]+c[i]",
         {{"a", {100000}}, {"b", {100000}}, {"c", {100000}}},
         {},
         "torch.addcmul(c, a, b)",
         4e5},
        {"sin and cos of 1 M",
         "y[i] := sin(x[i])*cos(x[i])",
         {{"x", {1 << 20}}},
         {},
         "torch.sin(x)*torch.cos(x)",
         2 << 20},
        {"powers of 1 M",
         "y[i] := abs(x[i])^1.7",
         {{"x", {1 << 20}}},
         {},
         "torch.pow(torch.abs(x), 1.7)",
         2 << 20},
        {"logarithms of 1 M",
         "y[i] := log(abs(x[i])+1)",
         {{"x", {1 << 20}}},
         {},
         "torch.log(torch.abs(x)+1)",
         2 << 20},
        {"erf of 1 M", "y[i] := erf(x[i])", {{"x", {1 << 20}}}, {}, "torch.erf(x)", 2 << 20},
        {"outer product",
         "Y[i,j] := x[i]*y[j]",
         {{"x", {2000}}, {"y", {3000}}},
         {},
         "torch.outer(x, y)",
         6e6},
        {"stencil of 5 points",
         "Y[i,j] := X[i+1,j+1]-0.25*(X[i,j+1]+X[i+2,j+1]+X[i+1,j]+X[i+1,j+2])",
         {{"X", {2000, 2000}}},
         {},
         "X[1:-1,1:-1]-0.25*(X[:-2,1:-1]+X[2:,1:-1]+X[1:-1,:-2]+X[1:-1,2:])",
         8e6},
        {"polynomial dx of 1 M",
         "y[i] := ((x[i]*2+3)*x[i]-1)*x[i]",
         {{"x", {1 << 20}}, {"dy", {1 << 20}}},
         {"x"},
         "((x*2+3)*x-1)*x",
         3 << 20},
        {"heads apart",
         "Y[b,h,s,d] := X[b,s,h,d]",
         {{"X", {8, 512, 12, 64}}},
         {},
         "X.transpose(1, 2).contiguous()",
         2.0 * 8 * 512 * 12 * 64},
        {"heads transposed",
         "Y[b,h,d,s] := X[b,s,h,d]",
         {{"X", {8, 512, 12, 64}}},
         {},
         "X.permute(0, 2, 3, 1).contiguous()",
         2.0 * 8 * 512 * 12 * 64},
        {"3 channels last to first",
         "Y[n,c,h,w] := X[n,h,w,c]",
         {{"X", {16, 224, 224, 3}}},
         {},
         "X.permute(0, 3, 1, 2).contiguous()",
         2.0 * 16 * 224 * 224 * 3},
        {"3 channels first to last",
         "Y[n,h,w,c] := X[n,c,h,w]",
         {{"X", {16, 3, 224, 224}}},
         {},
         "X.permute(0, 2, 3, 1).contiguous()",
         2.0 * 16 * 224 * 224 * 3},
        {"transposed 1000^2",
         "Y[j,i] := X[i,j]",
         {{"X", {1000, 1000}}},
         {},
         "X.t().contiguous()",
         2e6},
        {"transposed batches",
         "Y[b,j,i] := X[b,i,j]",
         {{"X", {64, 100, 200}}},
         {},
         "X.transpose(1, 2).contiguous()",
         2.0 * 64 * 100 * 200},
        {"symmetrised", "Y[i,j] := X[i,j]+X[j,i]", {{"X", {1500, 1500}}}, {}, "X+X.t()", 4.5e6},
        {"symmetrised dX",
         "Y[i,j] := X[i,j]*X[j,i]",
         {{"X", {1500, 1500}}, {"dY", {1500, 1500}}},
         {"X"},
         "X*X.t()",
         6.75e6},
        {"diagonals",
         "y[b,i] := X[b,i,i]",
         {{"X", {1000, 64, 64}}},
         {},
         "torch.diagonal(X, dim1=1, dim2=2).contiguous()",
         128000},
        {"traces",
         "y[b] := X[b,i,i]",
         {{"X", {1000, 64, 64}}},
         {},
         "torch.einsum('bii->b', X)",
         64000},
        {"middle sums", "y[a,c] := X[a,b,c]", {{"X", {256, 100, 200}}}, {}, "X.sum(1)", 5.12e6},
        {"outer sums", "y[b] := X[a,b,c]", {{"X", {256, 100, 200}}}, {}, "X.sum((0, 2))", 5.12e6},
        {"middle maxima",
         "y[a,c] := max[b](X[a,b,c])",
         {{"X", {256, 100, 200}}},
         {},
         "X.amax(1)",
         5.12e6},
        {"softmax of the middle",
         "Y[a,b,c] := exp(X[a,b,c]-max[l](X[a,l,c]))/sum[l](exp(X[a,l,c]-max[m](X[a,m,c])))",
         {{"X", {256, 100, 200}}},
         {},
         "torch.softmax(X, 1)",
         1.024e7},
        {"mean squared error",
         "L := mean[i,j]((X[i,j]-Y[i,j])^2)",
         {{"X", {1000, 1000}}, {"Y", {1000, 1000}}},
         {},
         "torch.nn.functional.mse_loss(X, Y)",
         2e6},
        {"mean squared error dX",
         "L := mean[i,j]((X[i,j]-Y[i,j])^2)",
         {{"X", {1000, 1000}}, {"Y", {1000, 1000}}, {"dL", {}}},
         {"X"},
         "torch.nn.functional.mse_loss(X, Y)",
         3e6},
        {"cosine similarities",
         "Y[i] := sum[k](A[i,k]*B[i,k])/(norm[k](A[i,k])*norm[k](B[i,k]))",
         {{"A", {10000, 128}}, {"B", {10000, 128}}},
         {},
         "torch.nn.functional.cosine_similarity(A, B, 1)",
         2.56e6},
        {"LSTM cell",
         lstm,
         {{"W", {4, 256, 128}},
          {"x", {64, 128}},
          {"U", {4, 256, 256}},
          {"s", {64, 256}},
          {"b", {4, 256}},
          {"c", {64, 256}}},
         {},
         torch_lstm,
         0,
         64.0 * 4 * 256 * 384},
        {"LSTM cell dW, dx, dU, ds",
         lstm,
         {{"W", {4, 256, 128}},
          {"x", {64, 128}},
          {"U", {4, 256, 256}},
          {"s", {64, 256}},
          {"b", {4, 256}},
          {"c", {64, 256}},
          {"dy", {64, 256}}},
         {"W", "x", "U", "s"},
         torch_lstm,
         0,
         3 * 64.0 * 4 * 256 * 384},
        {"two layers",
         two_layers,
         {{"W", {1024, 256}}, {"X", {512, 256}}, {"b", {1024}}, {"V", {256, 1024}}, {"c", {256}}},
         {},
         torch_two_layers,
         0,
         2 * 512.0 * 1024 * 256},
        {"two layers, all gradients",
         two_layers,
         {{"W", {1024, 256}},
          {"X", {512, 256}},
          {"b", {1024}},
          {"V", {256, 1024}},
          {"c", {256}},
          {"dY", {512, 256}}},
         {"W", "X", "b", "V", "c"},
         torch_two_layers,
         0,
         5 * 512.0 * 1024 * 256},
        {"bilinear",
         "Y[n,o] := X[n,i]*W[o,i,j]*Z[n,j]",
         {{"X", {128, 64}}, {"W", {32, 64, 64}}, {"Z", {128, 64}}},
         {},
         "torch.nn.functional.bilinear(X, Z, W)",
         0,
         128.0 * 32 * 64 * 64},
        {"squared distances",
         "D[i,j] := (X[i,k]-Y[j,k])^2",
         {{"X", {1000, 3}}, {"Y", {1000, 3}}},
         {},
         "torch.cdist(X, Y, compute_mode='donot_use_mm_for_euclid_dist')**2",
         1e6},
        {"L1 distances",
         "D[i,j] := abs(X[i,k]-Y[j,k])",
         {{"X", {1000, 64}}, {"Y", {1000, 64}}},
         {},
         "torch.cdist(X, Y, p=1)",
         0,
         6.4e7},
        {"L1 distances dX",
         "D[i,j] := abs(X[i,k]-Y[j,k])",
         {{"X", {1000, 64}}, {"Y", {1000, 64}}, {"dD", {1000, 1000}}},
         {"X"},
         "torch.cdist(X, Y, p=1)",
         0,
         1.28e8},
        {"attention 12 x 197 x 64",
         attention,
         {{"Q", {12, 197, 64}}, {"K", {12, 197, 64}}, {"V", {12, 197, 64}}},
         {},
         torch_attention,
         0,
         2.0 * 12 * 197 * 197 * 64},
        {"attention 96 x 128 x 32",
         attention,
         {{"Q", {96, 128, 32}}, {"K", {96, 128, 32}}, {"V", {96, 128, 32}}},
         {},
         torch_attention,
         0,
         2.0 * 96 * 128 * 128 * 32},
        {"attention 16 x 1000 x 128",
         attention,
         {{"Q", {16, 1000, 128}}, {"K", {16, 1000, 128}}, {"V", {16, 1000, 128}}},
         {},
         torch_attention,
         0,
         2.0 * 16 * 1000 * 1000 * 128},
        {"attention 96 x 128 x 32 dQ, dK, dV",
         attention,
         {{"Q", {96, 128, 32}}, {"K", {96, 128, 32}}, {"V", {96, 128, 32}}, {"dY", {96, 128, 32}}},
         {"Q", "K", "V"},
         torch_attention,
         0,
         7.0 * 96 * 128 * 128 * 32},
        {"attention 12 x 197 x 64 dQ, dK, dV",
         attention,
         {{"Q", {12, 197, 64}}, {"K", {12, 197, 64}}, {"V", {12, 197, 64}}, {"dY", {12, 197, 64}}},
         {"Q", "K", "V"},
         torch_attention,
         0,
         7.0 * 12 * 197 * 197 * 64},
        {"1-D convolution",
         "Y[n,o,x] := X[n,c,pad(x+u-2,2)]*W[o,c,u]",
         {{"X", {16, 64, 1000}}, {"W", {64, 64, 5}}},
         {},
         "torch.nn.functional.conv1d(X, W, padding=2)",
         0,
         16.0 * 64 * 64 * 1000 * 5},
        {"1-D convolution dX",
         "Y[n,o,x] := X[n,c,pad(x+u-2,2)]*W[o,c,u]",
         {{"X", {16, 64, 1000}}, {"W", {64, 64, 5}}, {"dY", {16, 64, 1000}}},
         {"X"},
         "torch.nn.functional.conv1d(X, W, padding=2)",
         0,
         16.0 * 64 * 64 * 1000 * 5},
        {"1-D convolution dW",
         "Y[n,o,x] := X[n,c,pad(x+u-2,2)]*W[o,c,u]",
         {{"X", {16, 64, 1000}}, {"W", {64, 64, 5}}, {"dY", {16, 64, 1000}}},
         {"W"},
         "torch.nn.functional.conv1d(X, W, padding=2)",
         0,
         16.0 * 64 * 64 * 1000 * 5},
        {"3-D convolution",
         "Y[n,o,z,y,x] := X[n,c,z+t,y+u,x+v]*W[o,c,t,u,v]",
         {{"X", {2, 16, 20, 34, 34}}, {"W", {32, 16, 3, 3, 3}}},
         {},
         "torch.nn.functional.conv3d(X, W)",
         0,
         2.0 * 32 * 16 * 27 * 18 * 32 * 32},
        {"3-D convolution dW",
         "Y[n,o,z,y,x] := X[n,c,z+t,y+u,x+v]*W[o,c,t,u,v]",
         {{"X", {2, 16, 20, 34, 34}}, {"W", {32, 16, 3, 3, 3}}, {"dY", {2, 32, 18, 32, 32}}},
         {"W"},
         "torch.nn.functional.conv3d(X, W)",
         0,
         2.0 * 32 * 16 * 27 * 18 * 32 * 32},
        {"grouped convolution",
         "Y[n,g,o,y,x] := X[n,g,c,y+u,x+v]*W[g,o,c,u,v]",
         {{"X", {8, 8, 16, 30, 30}}, {"W", {8, 16, 16, 3, 3}}},
         {},
         "torch.nn.functional.conv2d(X.view(8, 128, 30, 30), W.view(128, 16, 3, 3), "
         "groups=8).view(8, 8, 16, 28, 28)",
         0,
         8.0 * 8 * 16 * 16 * 9 * 28 * 28},
        {"transposed convolution",
         "Y[n,o,2*y+u,2*x+v] += X[n,c,y,x]*W[c,o,u,v]",
         {{"Y", {8, 32, 57, 57}}, {"X", {8, 64, 28, 28}}, {"W", {64, 32, 3, 3}}},
         {},
         "Y + torch.nn.functional.conv_transpose2d(X, W, stride=2)",
         0,
         8.0 * 64 * 32 * 9 * 28 * 28},
    };
}

void add_other(Suite& suite, const char* row, const Other& o, const std::string& name) {
    suite.add(row, name, [&](std::int64_t shrink) {
        if (shrink > 1) return Workload{};  // compared with PyTorch alone
        Workload w{.program = o.program, .arguments = {}};
        for (const auto& [argument, shape] : o.arguments)
            w.arguments.push_back(randn(argument, shape));
        w.wrt = o.wrt;
        w.limit = o.elements > 0 ? Limit{Limit::Kind::copy, 4 * o.elements}
                                 : Limit{Limit::Kind::fma, 2 * o.multiply_adds};
        w.tolerance = 1e-3;
        add_torch_peer(w, o.torch);
        return w;
    });
}

}  // namespace

void add_others(Suite& suite) {
    for (const Other& o : rows()) {
        const Shape& shape = o.arguments[0].second;
        add_other(suite, "other", o, format("{} {}x{}", o.name, shape[0], shape[1]));
    }
    for (const Other& o : layers()) add_other(suite, "other", o, o.name);
}

}  // namespace bench
