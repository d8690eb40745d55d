// codegen/cuda/prelude_operations.cpp – the operations of the language on scalars, as C++ text
#include "codegen/cuda/emit.h"

namespace ricci::codegen::cuda {

// Largest errors in units in the last place, f32 / f64, by NVIDIA's table (CUDA C++ Programming
// Guide, mathematical functions) or of our own formulas: exp 1/1, expm1 1/1, log 1/1, log1p 1/1,
// log2 1/1, log10 2/1, sqrt 0.5/0.5, rsqrt 2/1, cbrt 1/1, sin 2/2, cos 2/2, tan 4/2, asin 2/2,
// acos 2/2, atan 2/2, atan2 3/2, sinh 3/2, cosh 2/1, tanh 2/1, asinh 3/3, acosh 4/3, atanh 3/2,
// erf 2/2, erfc 4/5, pow 4/2, hypot 3/2, gamma 1/10, lgamma 1/4 (f64: but near its negative roots),
// sigmoid 3/3, softplus 3/3. digamma has an absolute error of 1e-15 near its root.
// NOLINTNEXTLINE(readability-function-size): one text
std::string_view operations() {
    return R"prelude(
// Operations of the language. NaN and infinities are honoured, integers wrap.

// The float next to the value whose last bit is 1 where the value is none: rounded to fewer bits it
// is as the value rounded once.
RC_INLINE float rc_odd(double x) {
    const float nearest = float(x);
    const unsigned bits = rc_bits(nearest);
    if (x != x || double(nearest) == x || (bits & 1U) != 0) return nearest;
    return rc_float(fabs(double(nearest)) > fabs(x) ? bits - 1 : bits + 1);
}
RC_INLINE unsigned short rc_bf16_bits(float x) {
    const unsigned bits = rc_bits(x);
    if (x != x) return (unsigned short)((bits >> 16) | 0x40U);
    return (unsigned short)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
// Elements of arrays; arithmetic is that of float.
struct rc_f16 {
    unsigned short bits;
    rc_f16() = default;
    RC_MEMBER explicit rc_f16(float x) : bits(rc_f16_bits(x)) {}
    RC_MEMBER explicit rc_f16(double x) : bits(rc_f16_bits(rc_odd(x))) {}
    RC_MEMBER operator float() const { return rc_f16_value(bits); }
};
struct rc_bf16 {
    unsigned short bits;
    rc_bf16() = default;
    RC_MEMBER explicit rc_bf16(float x) : bits(rc_bf16_bits(x)) {}
    RC_MEMBER explicit rc_bf16(double x) : bits(rc_bf16_bits(rc_odd(x))) {}
    RC_MEMBER operator float() const { return rc_float(unsigned(bits) << 16); }
};

template <class T> struct rc_limits;
#define RC_LIMITS(T, U, LOW, HIGH)              \
    template <> struct rc_limits<T> {           \
        using bits = U;                         \
        static constexpr T low = LOW;           \
        static constexpr T high = HIGH;         \
        static constexpr bool has_sign = LOW != 0; \
    }
RC_LIMITS(rc_i8, rc_u32, -128, 127);
RC_LIMITS(rc_i16, rc_u32, -32768, 32767);
RC_LIMITS(rc_i32, rc_u32, -2147483647 - 1, 2147483647);
RC_LIMITS(rc_i64, rc_u64, -9223372036854775807LL - 1, 9223372036854775807LL);
RC_LIMITS(rc_u8, rc_u32, 0, 255);
RC_LIMITS(rc_u16, rc_u32, 0, 65535);
RC_LIMITS(rc_u32, rc_u32, 0, 4294967295U);
RC_LIMITS(rc_u64, rc_u64, 0, 18446744073709551615ULL);
#undef RC_LIMITS

template <class T> struct rc_is_real { static constexpr bool value = false; };
template <> struct rc_is_real<float> { static constexpr bool value = true; };
template <> struct rc_is_real<double> { static constexpr bool value = true; };

// Integers: called with the type, as rc_add<rc_i64>(a, b).
template <class T> RC_INLINE T rc_add(T a, T b) {
    using U = typename rc_limits<T>::bits;
    return T(U(a) + U(b));
}
template <class T> RC_INLINE T rc_mul(T a, T b) {
    using U = typename rc_limits<T>::bits;
    return T(U(a) * U(b));
}
template <class T> RC_INLINE T rc_neg(T a) {
    using U = typename rc_limits<T>::bits;
    return T(U(0) - U(a));
}
// Both rounded down. Of integers both are 0 by zero.
template <class T> RC_INLINE T rc_floordiv(T a, T b) {
    if constexpr (rc_is_real<T>::value) {
        // The floor of the rounded quotient may be one too large: what an fma leaves of a tells,
        // or is NaN where there is no such quotient. Large quotients are whole as they are.
        const T ratio = a / b;
        const T whole = floor(ratio);
        const T rest = fma(-whole, b, a);
        const bool is_above = (rest < T(0) || rest > T(0)) && (rest < T(0)) != (b < T(0));
        const bool is_small = fabs(ratio) < (sizeof(T) == 4 ? T(16777216) : T(9007199254740992));
        const bool is_minus_one = fabs(b) == rc_inf<T>() && fabs(a) < rc_inf<T>() && a != T(0) &&
                                  (a < T(0)) != (b < T(0));
        return is_minus_one ? T(-1) : is_above && is_small ? whole - T(1) : whole;
    } else {
        if (b == T(0)) return T(0);
        if constexpr (rc_limits<T>::has_sign) {
            if (b == T(-1)) return rc_neg<T>(a);
            const T quotient = T(a / b);
            return T(quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
        } else {
            return T(a / b);
        }
    }
}
template <class T> RC_INLINE T rc_mod(T a, T b) {
    if constexpr (rc_is_real<T>::value) {
        const T rest = fmod(a, b);
        const bool is_opposite =
            (rest < T(0) || rest > T(0)) && (rest < T(0)) != (b < T(0));
        return is_opposite ? rest + b : rest;
    } else {
        if (b == T(0)) return T(0);
        if constexpr (rc_limits<T>::has_sign) {
            if (b == T(-1)) return T(0);
            const T rest = T(a % b);
            return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
        } else {
            return T(a % b);
        }
    }
}
// Bounds of loops: by a positive constant.
template <class T> RC_INLINE T rc_floor_by(T a, T b) { return a / b - (a % b < 0 ? 1 : 0); }
template <class T> RC_INLINE T rc_ceil_by(T a, T b) { return a / b + (a % b > 0 ? 1 : 0); }
template <class T> RC_INLINE T rc_mod_by(T a, T b) {
    const T rest = a % b;
    return rest < 0 ? rest + b : rest;
}
template <class T> RC_INLINE T rc_least(T a, T b) { return b < a ? b : a; }
template <class T> RC_INLINE T rc_most(T a, T b) { return a < b ? b : a; }

// The greater and the smaller one; NaN where one is.
template <class T> RC_INLINE T rc_max(T a, T b) {
    if constexpr (rc_is_real<T>::value) return rc_max_real(a, b);
    else return a < b ? b : a;
}
template <class T> RC_INLINE T rc_min(T a, T b) {
    if constexpr (rc_is_real<T>::value) return rc_min_real(a, b);
    else return b < a ? b : a;
}
template <class T> RC_INLINE T rc_clamp(T x, T low, T high) {
    return rc_min<T>(rc_max<T>(x, low), high);
}

// x to a whole constant power, by squaring.
template <int N, class T> RC_INLINE T rc_power(T x) {
    if constexpr (N < 0) return T(1) / rc_power<-N>(x);
    else if constexpr (N == 0) return T(1);
    else if constexpr (N == 1) return x;
    else if constexpr (N % 2 == 1) return rc_power<N - 1>(x) * x;
    else {
        const T root = rc_power<N / 2>(x);
        return root * root;
    }
}
template <class T> RC_INLINE T rc_pow(T x, T y) {
    if constexpr (rc_is_real<T>::value) {
        return pow(x, y);
    } else {
        if constexpr (rc_limits<T>::has_sign) {
            if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
        }
        T result = 1;
        for (; y > 0; y >>= 1) {
            if (y & 1) result = rc_mul<T>(result, x);
            x = rc_mul<T>(x, x);
        }
        return result;
    }
}
// As pow(x, 0.5): unlike sqrt, 0 of -0 and infinity of -infinity.
template <class T> RC_INLINE T rc_root(T x) {
    return x == -rc_inf<T>() ? rc_inf<T>() : sqrt(x) + T(0);
}
// x to a constant number of halves, an odd one.
template <int N, class T> RC_INLINE T rc_half_power(T x) {
    if constexpr (N < 0) return T(1) / rc_half_power<-N>(x);
    else if constexpr (N == 1) return rc_root(x);
    else return rc_root(x) * rc_power<N / 2>(fabs(x));
}

template <class T> RC_INLINE T rc_abs(T x) {
    if constexpr (rc_is_real<T>::value) return fabs(x);
    else return x < 0 ? rc_neg<T>(x) : x;
}
template <class T> RC_INLINE T rc_sign(T x) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class T> RC_INLINE T rc_relu(T x) { return x < T(0) ? T(0) : x; }
template <class T> RC_INLINE T rc_leaky_relu(T x, T slope) { return x < T(0) ? x * slope : x; }
template <class T> RC_INLINE T rc_fma(T a, T b, T c) {
    if constexpr (rc_is_real<T>::value) return fma(a, b, c);
    else return rc_add<T>(rc_mul<T>(a, b), c);
}

template <class T> RC_INLINE bool rc_isnan(T x) { return x != x; }
template <class T> RC_INLINE bool rc_isinf(T x) { return fabs(x) == rc_inf<T>(); }
template <class T> RC_INLINE bool rc_isfinite(T x) { return fabs(x) < rc_inf<T>(); }

#define RC_FUNCTION(name, formula) \
    template <class T> RC_INLINE T rc_##name(T x) { return formula; }
RC_FUNCTION(exp, exp(x))
RC_FUNCTION(expm1, expm1(x))
RC_FUNCTION(log, log(x))
RC_FUNCTION(log1p, log1p(x))
RC_FUNCTION(log2, log2(x))
RC_FUNCTION(log10, log10(x))
RC_FUNCTION(sqrt, sqrt(x))
RC_FUNCTION(cbrt, cbrt(x))
RC_FUNCTION(sin, sin(x))
RC_FUNCTION(cos, cos(x))
RC_FUNCTION(tan, tan(x))
RC_FUNCTION(asin, asin(x))
RC_FUNCTION(acos, acos(x))
RC_FUNCTION(atan, atan(x))
RC_FUNCTION(sinh, sinh(x))
RC_FUNCTION(cosh, cosh(x))
RC_FUNCTION(tanh, tanh(x))
RC_FUNCTION(asinh, asinh(x))
RC_FUNCTION(acosh, acosh(x))
RC_FUNCTION(atanh, atanh(x))
RC_FUNCTION(erf, erf(x))
RC_FUNCTION(erfc, erfc(x))
RC_FUNCTION(floor, floor(x))
RC_FUNCTION(ceil, ceil(x))
RC_FUNCTION(round, rint(x))
RC_FUNCTION(trunc, trunc(x))
RC_FUNCTION(gamma, T(tgamma(double(x))))
RC_FUNCTION(lgamma, T(lgamma(double(x))))
RC_FUNCTION(angle, x < T(0) ? T(3.14159265358979323846) : x - x)
RC_FUNCTION(softplus, rc_max<T>(x, T(0)) + log1p(exp(-fabs(x))))
RC_FUNCTION(gelu, T(0.5) * x * erfc(x * T(-0.70710678118654752440)))
#undef RC_FUNCTION
template <class T> RC_INLINE T rc_atan2(T y, T x) { return atan2(y, x); }
template <class T> RC_INLINE T rc_hypot(T x, T y) { return hypot(x, y); }
// 1/(1 + e^-x) by the exponential that cannot overflow.
template <class T> RC_INLINE T rc_sigmoid(T x) {
    const T e = exp(-fabs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
}
template <class T> RC_INLINE T rc_silu(T x) { return x * rc_sigmoid<T>(x); }

// The derivative of lgamma: recurrence up to 10, then the asymptotic series; reflected below 0
// (Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18).
template <class T> RC_INLINE T rc_digamma(T at) {
    double x = at;
    if (x != x || x == -rc_inf<double>()) return rc_nan<T>();
    if (x == 0) return T(copysign(rc_inf<double>(), -x));
    double result = 0;
    if (x < 0) {
        if (x == floor(x)) return rc_nan<T>();
        const double fraction = x - rint(x);  // tan has period 1 in units of pi
        result = -3.14159265358979323846 / tan(3.14159265358979323846 * fraction);
        x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    const double t = 1 / (x * x);
    const double series =
        t * (1.0 / 12 - t * (1.0 / 120 - t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 -
        t * (691.0 / 32760 - t / 12))))));
    return T(result + log(x) - 0.5 / x - series);
}

// To an integer: towards zero, as near as the type can hold; 0 for NaN.
template <class To, class From> RC_INLINE To rc_convert(From x) {
    using Limits = rc_limits<To>;
    if constexpr (rc_is_real<From>::value) {
        // Twice half the greatest, a power of two, is exact where the greatest itself is not.
        constexpr From above = From(Limits::high / 2 + 1) * From(2);
        return x >= above                ? Limits::high
               : x <= From(Limits::low) ? Limits::low
               : x == x                 ? To(x)
                                        : To(0);
    } else if constexpr (rc_limits<From>::has_sign) {
        if constexpr (!Limits::has_sign) {
            return x < 0 ? To(0) : rc_u64(x) > rc_u64(Limits::high) ? Limits::high : To(x);
        } else {
            return rc_i64(x) < rc_i64(Limits::low)    ? Limits::low
                   : rc_i64(x) > rc_i64(Limits::high) ? Limits::high
                                                      : To(x);
        }
    } else {
        return rc_u64(x) > rc_u64(Limits::high) ? Limits::high : To(x);
    }
}

// Whether a value at a place goes before another in a search for the greatest or smallest: NaN
// before numbers, of equal values the one with the smaller place.
template <class T> RC_INLINE bool rc_is_above(T a, rc_i64 a_place, T b, rc_i64 b_place) {
    if (a != a || b != b) return a != a && (b == b || a_place < b_place);
    return a > b || (a == b && a_place < b_place);
}
template <class T> RC_INLINE bool rc_is_below(T a, rc_i64 a_place, T b, rc_i64 b_place) {
    if (a != a || b != b) return a != a && (b == b || a_place < b_place);
    return a < b || (a == b && a_place < b_place);
}

// Neighbours from memory or on the way to it.
template <class T, int N> RC_INLINE rc_vec<T, 2 * N> rc_join(rc_vec<T, N> a, rc_vec<T, N> b) {
    rc_vec<T, 2 * N> both;
    RC_UNROLL for (int i = 0; i < N; ++i) {
        both.v[i] = a.v[i];
        both.v[N + i] = b.v[i];
    }
    return both;
}
template <int First, int N, class T, int M> RC_INLINE rc_vec<T, N> rc_part(rc_vec<T, M> all) {
    rc_vec<T, N> part;
    RC_UNROLL for (int i = 0; i < N; ++i) part.v[i] = all.v[First + i];
    return part;
}
)prelude";
}

}  // namespace ricci::codegen::cuda
