// bench/cpu/peers.cpp – oneDNN, OpenBLAS, LIBXSMM and Eigen on the same row-major arrays
#include "bench/cpu/peers.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "codegen/cpu/compile.h"

#include "bench/cpu/eigen.h"
#include "bench/cpu/xsmm.h"

extern "C" void omp_set_num_threads(int count);  // of the OpenMP that oneDNN was linked with

namespace bench {
namespace {

using namespace ricci;

/// The functions of OpenBLAS, opened after the kind of its kernels has been chosen: the version in
/// Debian 12 does not know newer processors and falls back to slow ones.
struct Blas {
    using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*,
                           int, float, float*, int);
    using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*,
                           int, double, double*, int);
    using Sgemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float,
                           float*, int);
    Sgemm sgemm = nullptr;
    Dgemm dgemm = nullptr;
    Sgemv sgemv = nullptr;
};
constexpr int row_major = 101;
constexpr int not_transposed = 111;
constexpr int transposed = 112;

Blas& blas() {
    static Blas found;
    return found;
}

void open_blas(int threads) {
    const char* kind = nullptr;
    if (is_held_to_avx2())
        kind = "Haswell";
    else if (__builtin_cpu_supports("avx512bf16"))
        kind = "Cooperlake";
    else if (__builtin_cpu_supports("avx512vl"))
        kind = "SkylakeX";
    if (kind != nullptr) setenv("OPENBLAS_CORETYPE", kind, 1);
    // Its threads spin 2^28 cycles for more work, 0.1 s in which others lack a core: now 2 ms.
    setenv("OPENBLAS_THREAD_TIMEOUT", "22", 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "no OpenBLAS: %s\n", dlerror());
        std::exit(1);
    }
    const auto find = [&](const char* name, auto& function) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find("cblas_sgemm", blas().sgemm);
    find("cblas_dgemm", blas().dgemm);
    find("cblas_sgemv", blas().sgemv);
    void (*set_threads)(int) = nullptr;
    char* (*core)() = nullptr;
    find("openblas_set_num_threads", set_threads);
    find("openblas_get_corename", core);
    set_threads(threads);
    std::printf("OpenBLAS kernels: %s\n", core());
}

/// oneDNN takes what it only reads as void* too.
void* handle(const Array& array) { return const_cast<void*>(array.data()); }

dnnl::memory::data_type type_of(const Array& array) {
    using Type = dnnl::memory::data_type;
    if (array.dtype() == DType::bf16) return Type::bf16;
    return array.dtype() == DType::f32 ? Type::f32 : Type::undef;
}

std::int64_t rows(const Matrix& m) {
    const Shape& s = m.array.shape();
    return m.is_transposed ? s.back() : s[s.size() - 2];
}
std::int64_t columns(const Matrix& m) {
    const Shape& s = m.array.shape();
    return m.is_transposed ? s[s.size() - 2] : s.back();
}
std::int64_t batch(const Matrix& m) { return m.array.shape().size() == 3 ? m.array.shape()[0] : 1; }

Peer dnnl_product(const Matrix& a, const Matrix& b, const Shape& c) {
    Peer peer{.name = "oneDNN", .run = {}, .result = Array(a.array.dtype(), c)};
    const auto describe = [&](const Matrix& m) {
        const std::int64_t r = rows(m);
        const std::int64_t k = columns(m);
        const dnnl::memory::dims steps =
            m.is_transposed ? dnnl::memory::dims{r * k, 1, r} : dnnl::memory::dims{r * k, k, 1};
        return dnnl::memory::desc({batch(m), r, k}, type_of(m.array), steps);
    };
    const auto target = describe({peer.result, false});
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(describe(a), describe(b), target),
                                          engine());
    peer.run = in_order({{dnnl::matmul(pd),
                          {{DNNL_ARG_SRC, {pd.src_desc(), engine(), handle(a.array)}},
                           {DNNL_ARG_WEIGHTS, {pd.weights_desc(), engine(), handle(b.array)}},
                           {DNNL_ARG_DST, {pd.dst_desc(), engine(), handle(peer.result)}}}}});
    return peer;
}

template <class T, class Gemm>
Peer blas_peer(const Matrix& a, const Matrix& b, const Shape& c, Gemm gemm) {
    Peer peer{.name = "OpenBLAS", .run = {}, .result = Array(a.array.dtype(), c)};
    const int m = int(rows(a));
    const int n = int(columns(b));
    const int k = int(columns(a));
    peer.run = [=, to = peer.result] {
        auto* out = static_cast<T*>(handle(to));
        const auto* x = static_cast<const T*>(a.array.data());
        const auto* y = static_cast<const T*>(b.array.data());
        for (std::int64_t e = 0; e < batch(a); ++e)
            gemm(row_major, a.is_transposed ? transposed : not_transposed,
                 b.is_transposed ? transposed : not_transposed, m, n, k, 1, x + e * m * k,
                 a.is_transposed ? m : k, y + e * k * n, b.is_transposed ? k : n, 0,
                 out + e * m * n, n);
    };
    return peer;
}

Peer eigen_peer(const Matrix& a, const Matrix& b, const Shape& c) {
    Peer peer{.name = "Eigen", .run = {}, .result = Array(a.array.dtype(), c)};
    const EigenSizes sizes{batch(a),   rows(a),         columns(b),
                           columns(a), a.is_transposed, b.is_transposed};
    peer.run = [=, to = peer.result] {
        if (a.array.dtype() == DType::f64)
            eigen_product(sizes, static_cast<const double*>(a.array.data()),
                          static_cast<const double*>(b.array.data()),
                          static_cast<double*>(handle(to)));
        else
            eigen_product(sizes, static_cast<const float*>(a.array.data()),
                          static_cast<const float*>(b.array.data()),
                          static_cast<float*>(handle(to)));
    };
    return peer;
}

int the_threads = 1;

/// Arrays whose memory peers have been told of.
std::vector<Array>& kept() {
    static std::vector<Array> arrays;
    return arrays;
}

}  // namespace

bool is_held_to_avx2() {
    return __builtin_cpu_supports("avx512vl") && codegen::cpu::host_target().vector_bytes < 64;
}

void open_peers(int threads) {
    the_threads = threads;
    omp_set_num_threads(threads);
    if (is_held_to_avx2()) {
        setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
        setenv("LIBXSMM_TARGET", "hsw", 1);
    }
    open_blas(threads);
}

void forget_arrays() { kept().clear(); }

std::vector<Peer> product_peers(const Matrix& a, const Matrix& b, Shape c) {
    std::vector<Peer> peers;
    if (a.array.dtype() == DType::f32) {
        peers.push_back(dnnl_product(a, b, c));
        peers.push_back(blas_peer<float>(a, b, c, blas().sgemm));
        // Its kernels do no blocking for caches.
        constexpr std::int64_t small = 64;
        if (std::min(c[c.size() - 2], c.back()) <= small)
            if (auto peer = xsmm_peer(a, b, c, the_threads)) peers.push_back(*std::move(peer));
    } else if (a.array.dtype() == DType::bf16) {
        return {dnnl_product(a, b, c)};
    } else {
        peers.push_back(blas_peer<double>(a, b, c, blas().dgemm));
    }
    // Built without threads of its own.
    if (the_threads == 1) peers.push_back(eigen_peer(a, b, c));
    return peers;
}

std::vector<Peer> vector_product_peers(const Matrix& a, const Array& x) {
    Peer peer{.name = "OpenBLAS", .run = {}, .result = Array(DType::f32, {rows(a)})};
    peer.run = [=, to = peer.result] {
        const Shape& s = a.array.shape();
        blas().sgemv(row_major, a.is_transposed ? transposed : not_transposed, int(s[0]), int(s[1]),
                     1, static_cast<const float*>(a.array.data()), int(s[1]),
                     static_cast<const float*>(x.data()), 1, 0, static_cast<float*>(handle(to)), 1);
    };
    return {peer};
}

void blas_product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, bool a_transposed,
                  const float* b, bool b_transposed, float* c) {
    blas().sgemm(row_major, a_transposed ? transposed : not_transposed,
                 b_transposed ? transposed : not_transposed, int(m), int(n), int(k), 1, a,
                 int(a_transposed ? m : k), b, int(b_transposed ? k : n), 0, c, int(n));
}

dnnl::engine& engine() {
    static dnnl::engine the(dnnl::engine::kind::cpu, 0);
    return the;
}
dnnl::stream& stream() {
    static dnnl::stream the(engine());
    return the;
}

dnnl::memory::desc plain(const Array& array, dnnl::memory::dims shape) {
    if (shape.empty()) shape.assign(array.shape().begin(), array.shape().end());
    dnnl::memory::dims steps(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
    return {shape, type_of(array), steps};
}
dnnl::memory memory(const Array& array, dnnl::memory::dims shape) {
    kept().push_back(array);
    return {plain(array, std::move(shape)), engine(), handle(array)};
}
dnnl::memory::desc any(const dnnl::memory::dims& shape) {
    return {shape, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

std::function<void()> in_order(std::vector<DnnlStep> steps) {
    return [steps = std::move(steps)] {
        for (const DnnlStep& step : steps) step.primitive.execute(stream(), step.arguments);
        stream().wait();
    };
}

}  // namespace bench
