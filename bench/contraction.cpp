// bench/contraction.cpp – how near are Linear and Dist, forward and backward, to oneDNN and to the
// machine's limit? Expected: forward within reach of oneDNN; both gradients about twice the forward
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>

#include "base/text.h"

#include "bench/harness.h"
#include "bench/limits.h"
#include "ricci/ricci.h"

#ifdef _OPENMP
#error "oneDNN brings its own OpenMP; this file needs none"
#endif
extern "C" void omp_set_num_threads(int count);  // of the OpenMP that oneDNN was linked with

namespace {

using namespace ricci;

/// oneDNN's matrix product with bias: dst[m,n] = src[m,k] weights[k,n] + bias[n], operands in any
/// order of their dimensions.
class OneDnnProduct {
  public:
    OneDnnProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool src_transposed,
                  bool weights_transposed, bool has_bias)
        : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        using Memory = dnnl::memory;
        const auto plain = [](std::int64_t rows, std::int64_t columns, bool transposed) {
            return Memory::desc({rows, columns}, Memory::data_type::f32,
                                transposed ? Memory::dims{1, rows} : Memory::dims{columns, 1});
        };
        src_ = plain(m, k, src_transposed);
        weights_ = plain(k, n, weights_transposed);
        dst_ = plain(m, n, false);
        bias_ = Memory::desc({1, n}, Memory::data_type::f32, Memory::dims{n, 1});
        const auto description = has_bias ? dnnl::matmul::desc(src_, weights_, bias_, dst_)
                                          : dnnl::matmul::desc(src_, weights_, dst_);
        primitive_ = dnnl::matmul(dnnl::matmul::primitive_desc(description, engine_));
        has_bias_ = has_bias;
    }

    void run(const Array& src, const Array& weights, const Array* bias, const Array& dst) {
        std::unordered_map<int, dnnl::memory> arguments{
            {DNNL_ARG_SRC, dnnl::memory(src_, engine_, handle(src))},
            {DNNL_ARG_WEIGHTS, dnnl::memory(weights_, engine_, handle(weights))},
            {DNNL_ARG_DST, dnnl::memory(dst_, engine_, runtime::writable_data(dst))}};
        if (has_bias_)
            arguments.emplace(DNNL_ARG_BIAS, dnnl::memory(bias_, engine_, handle(*bias)));
        primitive_.execute(stream_, arguments);
        stream_.wait();
    }

  private:
    /// oneDNN takes what it only reads as void* too.
    static void* handle(const Array& array) { return const_cast<void*>(array.data()); }

    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::memory::desc src_, weights_, dst_, bias_;
    dnnl::matmul primitive_;
    bool has_bias_ = false;
};

/// The largest difference relative to the root mean square of `b`.
double difference(const Array& a, const Array& b) {
    const auto x = a.span<float>();
    const auto y = b.span<float>();
    double most = 0;
    double squares = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
        most = std::max(most, std::abs(static_cast<double>(x[n]) - static_cast<double>(y[n])));
        squares += static_cast<double>(y[n]) * static_cast<double>(y[n]);
    }
    return most / std::sqrt(squares / static_cast<double>(x.size()));
}

void require_equal(const Array& a, const Array& b, const char* what) {
    if (difference(a, b) < 1e-3) return;
    std::fputs(format("{} differs from oneDNN by {}\n", what, difference(a, b)).c_str(), stderr);
    std::exit(1);
}

void linear(int threads, std::int64_t n, std::int64_t k, std::int64_t o) {
    const Function forward = compile("Y[n,o] := W[o,k]*X[n,k] + b[o]");
    const Function gradient_w = forward.grad("W");
    const Function gradient_x = forward.grad("X");
    const Array W = Array::randn(DType::f32, {o, k}, 1), X = Array::randn(DType::f32, {n, k}, 2);
    const Array b = Array::randn(DType::f32, {o}, 3), dY = Array::randn(DType::f32, {n, o}, 4);
    const Array Y(DType::f32, {n, o}), dW(DType::f32, {o, k}), dX(DType::f32, {n, k});
    OneDnnProduct peer_y(n, o, k, false, true, true);
    OneDnnProduct peer_w(o, k, n, true, false, false);
    OneDnnProduct peer_x(n, k, o, false, false, false);
    Array y, dw, dx;
    const auto by_name = [&] { return Arguments{{"W", W}, {"X", X}, {"b", b}, {"dY", dY}}; };
    const Arguments arguments = by_name();
    const auto times = bench::interleave({
        {"ours", [&] { y = forward(W, X, b); }},
        {"oneDNN", [&] { peer_y.run(X, W, &b, Y); }},
        {"ours dW", [&] { dw = gradient_w(arguments); }},
        {"oneDNN dW", [&] { peer_w.run(dY, X, nullptr, dW); }},
        {"ours dX", [&] { dx = gradient_x(arguments); }},
        {"oneDNN dX", [&] { peer_x.run(dY, W, nullptr, dX); }},
    });
    require_equal(y, Y, "Y");
    require_equal(dw, dW, "dW");
    require_equal(dx, dX, "dX");
    const double flops = 2.0 * static_cast<double>(n * k * o);
    const double limit = bench::fma_limit(threads);
    const char* names[] = {"linear forward", "linear dW", "linear dX"};
    for (std::size_t p = 0; p < 3; ++p)
        bench::Row(format("{} {}x{}x{}", names[p], n, k, o))
            .number("ms", times[2 * p].median * 1e3)
            .number("gflops", flops / times[2 * p].median * 1e-9)
            .number("onednn_ms", times[2 * p + 1].median * 1e3)
            .number("ratio_to_onednn", times[2 * p + 1].median / times[2 * p].median)
            .number("fraction_of_limit", flops / times[2 * p].median / limit)
            .print();
    bench::Row("linear gradients over forward")
        .number("ratio", (times[2].median + times[4].median) / times[0].median)
        .number("onednn_ratio", (times[3].median + times[5].median) / times[1].median)
        .print();
}

void distance(int threads, std::int64_t k, std::int64_t i, std::int64_t j) {
    const Function forward = compile("D[i,j] := (w[k,i] - x[k,j])^2");
    const Function gradient_w = forward.grad("w");
    const Function gradient_x = forward.grad("x");
    const Array w = Array::randn(DType::f32, {k, i}, 1), x = Array::randn(DType::f32, {k, j}, 2);
    const Array dD = Array::randn(DType::f32, {i, j}, 3);
    Array D, dw, dx;
    const Arguments arguments{{"w", w}, {"x", x}, {"dD", dD}};
    const auto times = bench::interleave({
        {"forward", [&] { D = forward(w, x); }},
        {"dw", [&] { dw = gradient_w(arguments); }},
        {"dx", [&] { dx = gradient_x(arguments); }},
    });
    const double flops = 3.0 * static_cast<double>(k * i * j);
    const double limit = bench::distance_limit(threads);
    const char* names[] = {"distance forward", "distance dw", "distance dx"};
    for (std::size_t p = 0; p < 3; ++p)
        bench::Row(format("{} {}x{}x{}", names[p], k, i, j))
            .number("ms", times[p].median * 1e3)
            .number("fraction_of_limit", flops / times[p].median / limit)
            .print();
    bench::Row("distance gradients over forward")
        .number("ratio", (times[1].median + times[2].median) / times[0].median)
        .print();
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = bench::threads_from(argc, argv);
    set_num_threads(threads);
    omp_set_num_threads(threads);
    bench::print_header(threads);
    bench::Row("limit")
        .number("fma_gflops", bench::fma_limit(threads, 0.2) * 1e-9)
        .number("distance_gflops", bench::distance_limit(threads, 0.2) * 1e-9)
        .print();
    linear(threads, 1024, 784, 1024);
    distance(threads, 784, 1024, 1024);
}
