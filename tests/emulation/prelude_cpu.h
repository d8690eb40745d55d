// tests/emulation/prelude_cpu.h – the names of the CUDA prelude for a C++ compiler
//
// The machine's half of codegen/cuda/prelude.cpp: what kernels are compiled with after it, the
// operations of the language, is the very text that GPUs get. Arrays check every access; with
// RC_UNCHECKED they are pointers, and a sanitizer sees what the kernel does.
//
// Compiled with every batch of kernels: no include but abi.h. It leaves a namespace open, in which
// `exp` and the like are those of float and double and not the compiler's.
#pragma once

#include "tests/emulation/abi.h"

namespace rc_kernels {

using rc_i8 = signed char;
using rc_i16 = short;
using rc_i32 = int;
using rc_i64 = long long;
using rc_u8 = unsigned char;
using rc_u16 = unsigned short;
using rc_u32 = unsigned int;
using rc_u64 = unsigned long long;

static const rc_device* rc_the_device;

#define RC_INLINE [[maybe_unused]] static inline
#define RC_MEMBER inline
#define RC_UNROLL
#define RC_BLOCK (rc_the_device->place->block)
#define RC_THREAD (rc_the_device->place->thread)
#define RC_BARRIER() rc_the_device->barrier(__LINE__)

// --- entry points --------------------------------------------------------------------------------

static const rc_entry* rc_entries;
static int rc_most_threads;

/// Notes the launch bound of the kernel whose entry follows.
struct rc_bound {
    explicit rc_bound(int threads) { rc_most_threads = threads; }
};

template <auto kernel>
struct rc_caller;
template <class... A, void (*kernel)(A...)>
struct rc_caller<kernel> {
    static constexpr int count = int(sizeof...(A));
    static constexpr int element_bytes[] = {int(sizeof(typename A::element))..., 0};
    template <int... n>
    struct numbers {};
    template <int... n>
    static void call(rc_array* parameters, numbers<n...>) {
        kernel(A(parameters + n)...);
    }
    template <int left, int... n>
    static void number(rc_array* parameters) {
        if constexpr (left == 0)
            call(parameters, numbers<n...>());
        else
            number<left - 1, left - 1, n...>(parameters);
    }
    static void run(rc_array* parameters) { number<count>(parameters); }
};

struct rc_registered : rc_entry {
    rc_registered(const char* entry_name, int count, const int* bytes, void (*function)(rc_array*))
        : rc_entry{entry_name, rc_most_threads, count, bytes, function, rc_entries} {
        rc_entries = this;
    }
};

#define RC_JOINED(a, b) a##b
#define RC_JOIN(a, b) RC_JOINED(a, b)
#define RC_KERNEL(...) RC_KERNEL_OF(__VA_ARGS__, 1)
#define RC_KERNEL_OF(threads, ...)                                  \
    static const rc_bound RC_JOIN(rc_bound_of_, __LINE__){threads}; \
    static void
#define RC_ENTRY(name)                                      \
    static const rc_registered RC_JOIN(rc_entry_of_, name){ \
        #name, rc_caller<name>::count, rc_caller<name>::element_bytes, rc_caller<name>::run};

// --- memory --------------------------------------------------------------------------------------

template <class T, int N>
struct alignas(sizeof(T) * N) rc_vec {
    T v[N];
};

template <class T>
RC_INLINE void rc_poison(T& value) {
    auto* bytes = reinterpret_cast<unsigned char*>(&value);
    const bool is_real = float(T(0.5)) != 0 && sizeof(T) > 1;
    for (int n = 0; n < int(sizeof(T)); ++n) bytes[n] = is_real ? 0xFF : *rc_the_device->poison;
}
template <>
inline void rc_poison(bool& value) {
    value = *rc_the_device->poison == 0xFF;
}

RC_INLINE void rc_move(char* to, const char* from, int bytes) {
    // Words, as the hardware does: to ThreadSanitizer the sizes of accesses matter.
    for (int n = 0; n < bytes; n += 4)
        *reinterpret_cast<unsigned*>(to + n) = *reinterpret_cast<const unsigned*>(from + n);
}

#ifdef RC_UNCHECKED

template <class T>
struct rc_global {
    using element = T;
    rc_array* array;
    explicit rc_global(rc_array* a) : array(a) {}
    T& operator[](rc_i64 i) const { return reinterpret_cast<T*>(array->data)[i]; }
};
template <class T>
struct rc_input : rc_global<T> {
    using rc_global<T>::rc_global;
    const T& operator[](rc_i64 i) const { return reinterpret_cast<const T*>(this->array->data)[i]; }
};
template <class T>
struct rc_shared : rc_global<T> {
    using rc_global<T>::rc_global;
};

#define RC_LOCAL(T, name, count) \
    T name[count];               \
    for (T & rc_each : name) rc_poison(rc_each)

template <int N, class A, class I>
RC_INLINE rc_vec<typename A::element, N> rc_load(const A& p, I i) {
    return *reinterpret_cast<const rc_vec<typename A::element, N>*>(&p[i]);
}
template <int N, class A, class I>
RC_INLINE void rc_store(const A& p, I i, rc_vec<typename A::element, N> value) {
    *reinterpret_cast<rc_vec<typename A::element, N>*>(&p[i]) = value;
}

template <class A, class I>
RC_INLINE typename A::element* rc_address(const A& p, I i) {
    return &p[i];
}

#else

/// An element that is written: `y[i] = x` comes as `y.put(i) = x` (mark_stores.h).
template <class T, bool is_shared>
struct rc_target {
    const rc_array* array;
    rc_i64 at;

    void operator=(T value) const { touch(rc_writing) = value; }
    void operator+=(T value) const { *this = T(touch(rc_reading) + value); }
    void operator-=(T value) const { *this = T(touch(rc_reading) - value); }
    void operator*=(T value) const { *this = T(touch(rc_reading) * value); }
    void operator|=(T value) const { *this = T(touch(rc_reading) | value); }
    void operator&=(T value) const { *this = T(touch(rc_reading) & value); }
    T& touch(rc_access access) const {
        if constexpr (is_shared)
            rc_the_device->touch_shared(array, at, 1, access);
        else
            rc_the_device->touch_global(array, at, 1, access);
        return reinterpret_cast<T*>(array->data)[at];
    }
};

template <class T, bool is_shared>
struct rc_written {
    using element = T;
    static constexpr bool is_in_shared = is_shared;
    rc_array* array;
    explicit rc_written(rc_array* a) : array(a) {}
    rc_target<T, is_shared> put(rc_i64 i) const { return {array, i}; }
    T operator[](rc_i64 i) const { return put(i).touch(rc_reading); }
};
template <class T>
using rc_global = rc_written<T, false>;
template <class T>
using rc_shared = rc_written<T, true>;
template <class T>
struct rc_input {
    using element = T;
    static constexpr bool is_in_shared = false;
    rc_array* array;
    explicit rc_input(rc_array* a) : array(a) {}
    T operator[](rc_i64 i) const {
        rc_the_device->touch_global(array, i, 1, rc_reading);
        return reinterpret_cast<const T*>(array->data)[i];
    }
};

/// An array of one thread.
template <class T, rc_i64 count>
struct rc_local {
    T v[count];
    const char* name;
    explicit rc_local(const char* of) : name(of) {
        for (T& each : v) rc_poison(each);
    }
    T& operator[](rc_i64 i) {
        if (i < 0 || i >= count) rc_the_device->outside_local(name, i, count);
        return v[i];
    }
};
#define RC_LOCAL(T, name, count) rc_local<T, count> name(#name)

template <int N, class A>
RC_INLINE typename A::element* rc_touch(const A& p, rc_i64 i, rc_access access) {
    if constexpr (A::is_in_shared)
        rc_the_device->touch_shared(p.array, i, N, access);
    else
        rc_the_device->touch_global(p.array, i, N, access);
    return reinterpret_cast<typename A::element*>(p.array->data) + i;
}
template <int N, class A, class I>
RC_INLINE rc_vec<typename A::element, N> rc_load(const A& p, I i) {
    const auto* from = rc_touch<N>(p, i, rc_reading);
    rc_vec<typename A::element, N> value;
    for (int n = 0; n < N; ++n) value.v[n] = from[n];
    return value;
}
template <int N, class A, class I>
RC_INLINE void rc_store(const A& p, I i, rc_vec<typename A::element, N> value) {
    auto* to = rc_touch<N>(p, i, rc_writing);
    for (int n = 0; n < N; ++n) to[n] = value.v[n];
}

template <class A>
RC_INLINE typename A::element* rc_address(const A& p, rc_i64 i) {
    return rc_touch<1>(p, i, rc_adding);
}

#endif

#define RC_IN(T) rc_input<T>
#define RC_OUT(T) rc_global<T>
#define RC_SHARED(T, name, offset, count) \
    const rc_shared<T> name(rc_the_device->declare_shared(#name, offset, count, int(sizeof(T))))

#define rc_load2(p, i) rc_load<2>(p, i)
#define rc_load4(p, i) rc_load<4>(p, i)
#define rc_load8(p, i) rc_load<8>(p, i)
#define rc_load16(p, i) rc_load<16>(p, i)
#define rc_store2(p, i, ...) rc_store<2>(p, i, __VA_ARGS__)
#define rc_store4(p, i, ...) rc_store<4>(p, i, __VA_ARGS__)
#define rc_store8(p, i, ...) rc_store<8>(p, i, __VA_ARGS__)
#define rc_store16(p, i, ...) rc_store<16>(p, i, __VA_ARGS__)
#define rc_store2_stream(p, i, ...) rc_store<2>(p, i, __VA_ARGS__)
#define rc_store4_stream(p, i, ...) rc_store<4>(p, i, __VA_ARGS__)
#define rc_store8_stream(p, i, ...) rc_store<8>(p, i, __VA_ARGS__)
#define rc_store16_stream(p, i, ...) rc_store<16>(p, i, __VA_ARGS__)
#define rc_store_stream(p, i, ...) rc_store<1>(p, i, {{__VA_ARGS__}})

// p[i] += value, whatever other threads add to it.
template <class A, class I>
RC_INLINE void rc_add_atomic(const A& p, I i, typename A::element value) {
    using T = typename A::element;
    T* const place = rc_address(p, i);
    T before;
    __atomic_load(place, &before, __ATOMIC_RELAXED);
    T after = T(before + value);
    while (!__atomic_compare_exchange(place, &before, &after, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
        after = T(before + value);
}

// N neighbours, 4, 8 or 16 bytes.
template <int N, int I0 = 0, int J0 = 0, class T, class A, class I, class J>
RC_INLINE void rc_copy_async(const rc_shared<T>& to, I i, const A& from, J j) {
    constexpr int bytes = N * int(sizeof(T));
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what cp.async copies");
    rc_the_device->copy_begin(to.array, i + I0, from.array, j + J0, N, rc_move);
}
RC_INLINE void rc_copy_commit() { rc_the_device->copy_commit(); }
template <int N>
RC_INLINE void rc_copy_wait() {
    rc_the_device->copy_wait(N);
}

template <class T>
RC_INLINE T rc_shuffle_xor(T value, int mask, int line = __builtin_LINE()) {
    union {
        rc_u64 bits;
        T value;
    } both;
    both.bits = 0;
    both.value = value;
    both.bits = rc_the_device->exchange(both.bits, mask, line);
    return both.value;
}

// --- numbers -------------------------------------------------------------------------------------

template <class T>
RC_INLINE T rc_inf() {
    return T(__builtin_inf());
}
template <class T>
RC_INLINE T rc_nan() {
    return T(__builtin_nan(""));
}
template <class T>
RC_INLINE T rc_max_real(T a, T b) {
    if (a != a || b != b) return a + b;
    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}
template <class T>
RC_INLINE T rc_min_real(T a, T b) {
    if (a != a || b != b) return a + b;
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

RC_INLINE unsigned rc_bits(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}
RC_INLINE float rc_float(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof(bits));
    return x;
}
/// `bits` without the lowest `count`, rounded to nearest even.
RC_INLINE unsigned rc_cut(unsigned bits, unsigned count) {
    return (bits + (1U << (count - 1)) - 1 + ((bits >> count) & 1U)) >> count;
}
RC_INLINE unsigned short rc_f16_bits(float x) {
    const unsigned bits = rc_bits(x);
    const unsigned size = bits & 0x7fffffffU;
    unsigned result = 0;
    if (size > 0x7f800000U)
        result = 0x7fff;
    else if (size >= 0x47800000U)  // 2^16
        result = 0x7c00;
    else if (size >= 0x38800000U)  // 2^-14, the least normal number
        result = rc_cut(size - 0x38000000U, 13);
    else if (size >= 0x33000000U)  // 2^-25, half the least number
        result = rc_cut((size & 0x7fffffU) | 0x800000U, 126 - (size >> 23));
    return static_cast<unsigned short>(((bits >> 16) & 0x8000U) | result);
}
RC_INLINE float rc_f16_value(unsigned short half) {
    const unsigned sign = (half & 0x8000U) << 16;
    const unsigned size = half & 0x7fffU;
    if (size >= 0x7c00U) return rc_float(sign | 0x7f800000U | (size & 0x3ffU) << 13);
    if (size >= 0x400U) return rc_float(sign | ((size << 13) + 0x38000000U));
    const float small = static_cast<float>(size) * 0x1p-24f;
    return sign != 0 ? -small : small;
}

#define RC_REAL_1(name)                                              \
    RC_INLINE float name(float x) { return __builtin_##name##f(x); } \
    RC_INLINE double name(double x) { return __builtin_##name(x); }
#define RC_REAL_2(name)                                                          \
    RC_INLINE float name(float x, float y) { return __builtin_##name##f(x, y); } \
    RC_INLINE double name(double x, double y) { return __builtin_##name(x, y); }
RC_REAL_1(exp)
RC_REAL_1(expm1)
RC_REAL_1(log)
RC_REAL_1(log1p)
RC_REAL_1(log2)
RC_REAL_1(log10)
RC_REAL_1(sqrt)
RC_REAL_1(cbrt)
RC_REAL_1(sin)
RC_REAL_1(cos)
RC_REAL_1(tan)
RC_REAL_1(asin)
RC_REAL_1(acos)
RC_REAL_1(atan)
RC_REAL_1(sinh)
RC_REAL_1(cosh)
RC_REAL_1(tanh)
RC_REAL_1(asinh)
RC_REAL_1(acosh)
RC_REAL_1(atanh)
RC_REAL_1(erf)
RC_REAL_1(erfc)
RC_REAL_1(tgamma)
RC_REAL_1(lgamma)
RC_REAL_1(floor)
RC_REAL_1(ceil)
RC_REAL_1(rint)
RC_REAL_1(trunc)
RC_REAL_1(fabs)
RC_REAL_2(pow)
RC_REAL_2(fmod)
RC_REAL_2(atan2)
RC_REAL_2(hypot)
RC_REAL_2(copysign)
#undef RC_REAL_1
#undef RC_REAL_2
RC_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
RC_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
RC_INLINE float rc_rsqrt(float x) { return 1 / sqrt(x); }
RC_INLINE double rc_rsqrt(double x) { return 1 / sqrt(x); }
