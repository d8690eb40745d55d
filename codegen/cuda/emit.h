// codegen/cuda/emit.h – GPU nests to CUDA C++
//
// The text uses names of the prelude and nothing else: no CUDA header, no built-in variable. Tests
// compile the very same text with a prelude of their own, in which threads are fibres of the CPU.
//
//   RC_KERNEL(threads) name(RC_IN(T) a, RC_OUT(T) y) {…}   an entry point; a, y: a[i] with an int
//   RC_KERNEL(threads, blocks) …        registers such that so many blocks fit at once
//   RC_ENTRY(name)                      after each kernel  or rc_i64 i. y may be read, too
//   RC_BLOCK RC_THREAD RC_UNROLL RC_INLINE RC_MEMBER RC_BARRIER()
//   RC_SHARED(T, name, byte_offset, count);  RC_LOCAL(T, name, count);
//   rc_i8 … rc_u64, rc_inf<T>(), rc_nan<T>(), rc_max_real, rc_min_real, rc_rsqrt of float, double
//   rc_bits(float), rc_float(bits), rc_f16_bits(float), rc_f16_value(bits)
//   rc_shuffle_xor(x, mask)             x float, double, int, rc_i64
//   rc_vec<T, N> with v[N]; for N = 2, 4, 8, 16: rc_load4(p, i), rc_store4(p, i, vec),
//   rc_store4_stream(p, i, vec); rc_store_stream(p, i, x)
//   rc_copy_async<N, A, B>(to, i, from, j) to i + A from j + B (constants, 0 when left out),
//   rc_copy_commit(), rc_copy_wait<N>()
//   and all that `operations` defines with these.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/nest.h"

namespace ricci::codegen::cuda {

/// The name of a nest's entry point in the text: the nest's name made an identifier, unique in the
/// text by the number in front.
[[nodiscard]] std::string symbol(const Nest& nest, std::size_t number);

/// One kernel for each nest, in order, without the prelude. The parameters of a kernel are its
/// argument buffers, in order. `first` is the number of the first nest in its plan. Registered
/// functions are defined in front. Throws: `device` for one that has no CUDA text.
[[nodiscard]] std::string emit_kernels(std::span<const Nest> nests, std::size_t first = 0);

/// A nest of one task as a function of pointers to its argument buffers, in order, without the
/// prelude: C++ that needs no more of it than types and operations.
[[nodiscard]] std::string emit_function(const Nest& nest, std::string symbol);

/// What the kernels are compiled with: CUDA C++ without headers, for NVRTC.
[[nodiscard]] std::string_view prelude();
/// The part of the prelude that is plain C++17 on top of the rest of it: every preludes' operations
/// on scalars. Uses exp, log, … overloaded for float and double, as <math.h> and NVRTC have them.
[[nodiscard]] std::string_view operations();

/// The whole translation unit: prelude, then kernels.
[[nodiscard]] std::string emit_text(std::span<const Nest> nests, std::size_t first = 0);

}  // namespace ricci::codegen::cuda
