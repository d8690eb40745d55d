// bench/cpu/peers.h – oneDNN, OpenBLAS, LIBXSMM and Eigen on the same row-major arrays
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/suite.h"

namespace bench {

/// Opens the libraries and sets their threads.
void open_peers(int threads);
/// Whether RICCI_TARGET asks for less than AVX-512 where that is: the libraries use AVX2 then, but
/// for Eigen, which is compiled for this machine.
[[nodiscard]] bool is_held_to_avx2();

/// A matrix as a library sees it: rows x columns of an array, transposed or not.
struct Matrix {
    ricci::Array array;
    bool is_transposed = false;
};
/// The peers for `c[m,n] = a[m,k] b[k,n]` in f32, f64 or bf16, batched where the arrays are.
[[nodiscard]] std::vector<Peer> product_peers(const Matrix& a, const Matrix& b, ricci::Shape c);
/// Those for `y[m] = a[m,k] x[k]`.
[[nodiscard]] std::vector<Peer> vector_product_peers(const Matrix& a, const ricci::Array& x);

/// c = a b by OpenBLAS, row-major, into memory of the caller.
void blas_product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, bool a_transposed,
                  const float* b, bool b_transposed, float* c);

// --- oneDNN ------------------------------------------------------------------------------------

[[nodiscard]] dnnl::engine& engine();
[[nodiscard]] dnnl::stream& stream();
/// The row-major description of an array, under another shape where one is given.
[[nodiscard]] dnnl::memory::desc plain(const ricci::Array& array, dnnl::memory::dims shape = {});
[[nodiscard]] dnnl::memory memory(const ricci::Array& array, dnnl::memory::dims shape = {});
/// An array that oneDNN lays out as it likes.
[[nodiscard]] dnnl::memory::desc any(const dnnl::memory::dims& shape);

using DnnlArguments = std::unordered_map<int, dnnl::memory>;
/// Runs primitives one after the other and waits.
struct DnnlStep {
    dnnl::primitive primitive;
    DnnlArguments arguments;
};
[[nodiscard]] std::function<void()> in_order(std::vector<DnnlStep> steps);

}  // namespace bench
