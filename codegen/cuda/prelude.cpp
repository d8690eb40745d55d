// codegen/cuda/prelude.cpp – what generated kernels are compiled with on a GPU
#include "base/text.h"
#include "codegen/cuda/emit.h"

namespace ricci::codegen::cuda {

namespace {

/// Types, entry points, memory and threads. No header: NVRTC has none of its own, and each that
/// there is would cost more than the kernel.
constexpr std::string_view machine = R"prelude(
using rc_i8 = signed char;
using rc_i16 = short;
using rc_i32 = int;
using rc_i64 = long long;
using rc_u8 = unsigned char;
using rc_u16 = unsigned short;
using rc_u32 = unsigned int;
using rc_u64 = unsigned long long;

#define RC_INLINE __device__ __forceinline__
#define RC_MEMBER __device__ __forceinline__
// Unless told otherwise, one block on a multiprocessor is enough: ptxas would spill registers to
// have more.
#define RC_KERNEL(...) extern "C" __global__ void RC_LAUNCH_BOUNDS(__VA_ARGS__, 1, )
#define RC_LAUNCH_BOUNDS(threads, blocks, ...) __launch_bounds__(threads, blocks)
#define RC_ENTRY(name)
#define RC_IN(T) const T* __restrict__
#define RC_OUT(T) T* __restrict__
#define RC_BLOCK int(blockIdx.x)
#define RC_THREAD int(threadIdx.x)
#define RC_UNROLL _Pragma("unroll")
#define RC_BARRIER() __syncthreads()
#define RC_LOCAL(T, name, count) T name[count]
#define RC_SHARED(T, name, offset, count) \
    T* const name = reinterpret_cast<T*>(rc_shared_memory + (offset))

extern __shared__ __align__(16) unsigned char rc_shared_memory[];

template <class T> RC_INLINE T rc_inf();
template <> RC_INLINE float rc_inf<float>() { return __int_as_float(0x7f800000); }
template <> RC_INLINE double rc_inf<double>() { return __longlong_as_double(0x7ff0000000000000LL); }
template <class T> RC_INLINE T rc_nan();
template <> RC_INLINE float rc_nan<float>() { return __int_as_float(0x7fc00000); }
template <> RC_INLINE double rc_nan<double>() { return __longlong_as_double(0x7ff8000000000000LL); }

// The greater and the smaller one, NaN where one is; +0 is greater than -0, so that both orders of
// the operands give the same.
RC_INLINE float rc_max_real(float a, float b) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
RC_INLINE float rc_min_real(float a, float b) {
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
RC_INLINE double rc_max_real(double a, double b) {
    return a != a || b != b ? a + b : fmax(a, b);
}
RC_INLINE double rc_min_real(double a, double b) {
    return a != a || b != b ? a + b : fmin(a, b);
}
RC_INLINE float rc_rsqrt(float x) { return rsqrt(x); }
RC_INLINE double rc_rsqrt(double x) { return rsqrt(x); }

// Half precision: bits in memory, floats in arithmetic.
RC_INLINE unsigned rc_bits(float x) { return __float_as_uint(x); }
RC_INLINE float rc_float(unsigned bits) { return __uint_as_float(bits); }
RC_INLINE unsigned short rc_f16_bits(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
RC_INLINE float rc_f16_value(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// The value of the thread of this warp whose number differs in the bits of the mask.
template <class T> RC_INLINE T rc_shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xffffffffU, value, mask);
}

// Neighbouring elements, accessed at once: the first one's address is a multiple of their size.
template <class T, int N> struct alignas(sizeof(T) * N) rc_vec { T v[N]; };

// Stores of what is not read again soon.
template <int Bytes> struct rc_word;
template <> struct rc_word<1> { using type = unsigned char; };
template <> struct rc_word<2> { using type = unsigned short; };
template <> struct rc_word<4> { using type = unsigned int; };
template <> struct rc_word<8> { using type = uint2; };
template <> struct rc_word<16> { using type = uint4; };
template <class T, class V> RC_INLINE void rc_stream(T* p, V value) {
    using Word = typename rc_word<sizeof(V)>::type;
    Word word;
    memcpy(&word, &value, sizeof(V));
    __stcs(reinterpret_cast<Word*>(p), word);
}
template <class T, class I, class V> RC_INLINE void rc_store_stream(T* p, I i, V value) {
    rc_stream(p + i, T(value));
}
#define RC_NEIGHBOURS(N)                                                                           \
    template <class T, class I> RC_INLINE rc_vec<T, N> rc_load##N(const T* p, I i) {               \
        return *reinterpret_cast<const rc_vec<T, N>*>(p + i);                                      \
    }                                                                                              \
    template <class T, class I> RC_INLINE void rc_store##N(T* p, I i, rc_vec<T, N> value) {        \
        *reinterpret_cast<rc_vec<T, N>*>(p + i) = value;                                           \
    }                                                                                              \
    template <class T, class I> RC_INLINE void rc_store##N##_stream(T* p, I i, rc_vec<T, N> value) \
    {                                                                                              \
        rc_stream(p + i, value);                                                                   \
    }
RC_NEIGHBOURS(2)
RC_NEIGHBOURS(4)
RC_NEIGHBOURS(8)
RC_NEIGHBOURS(16)
#undef RC_NEIGHBOURS

// p[i] += value, whatever other threads add to it.
template <class T, class I, class V> RC_INLINE void rc_add_atomic(T* p, I i, V value) {
    if constexpr (T(0.5) != 0 || sizeof(T) == 4)
        atomicAdd(p + i, T(value));
    else
        atomicAdd(reinterpret_cast<rc_u64*>(p + i), rc_u64(T(value)));
}

// N neighbours, 4, 8 or 16 bytes, from global to shared memory, without waiting: to[i + A], ...
// from from[j + B]. The constants are part of the instruction, so that copies share addresses.
template <int N, int A = 0, int B = 0, class T, class I, class J>
RC_INLINE void rc_copy_async(T* to, I i, const T* from, J j) {
    const unsigned place = unsigned(__cvta_generic_to_shared(to + i));
    constexpr int bytes = N * int(sizeof(T));
    constexpr int size = int(sizeof(T));
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what cp.async copies");
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %3], 16;" ::"r"(place),
                     "l"(from + j), "n"(A * size), "n"(B * size)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0 + %3], [%1 + %4], %2;" ::"r"(place),
                     "l"(from + j), "n"(bytes), "n"(A * size), "n"(B * size)
                     : "memory");
}
RC_INLINE void rc_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> RC_INLINE void rc_copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
)prelude";

}  // namespace

std::string_view prelude() {
    static const std::string text =
        format("// The prelude of Ricci's kernels.\n{}{}", machine, operations());
    return text;
}

}  // namespace ricci::codegen::cuda
