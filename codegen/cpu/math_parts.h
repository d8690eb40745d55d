// codegen/cpu/math_parts.h – what the elementary functions share
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "codegen/cpu/wide.h"
#include "dsl/ops.h"

namespace ricci::codegen::cpu {

using Coefficients = std::initializer_list<double>;

/// The constant for the type of `like`.
inline Wide pick(Wide like, double f32, double f64) {
    return number_in_memory(like, like.is_double() ? f64 : f32);
}
/// The polynomial for the type of `x` (made by minimax.py).
inline Wide polynomial(Wide x, Coefficients f32, Coefficients f64) {
    return polynomial(x, x.is_double() ? f64 : f32);
}
inline Wide infinity(Wide like) { return like.number(HUGE_VAL); }
inline Wide not_a_number(Wide like) {
    return like.number(std::numeric_limits<double>::quiet_NaN());
}
/// Bits of the stored fraction.
inline int fraction_bits(Wide like) { return like.is_double() ? 52 : 23; }
/// A number rounded to the nearest whole, as a float and as an integer of the same width. Adding
/// 1.5 * 2^fraction pushes the fraction out, and every target has an addition.
struct Rounded {
    Wide whole;
    Wide integer;
};
/// `x * factor` rounded; below 2^22 (f32), 2^51 (f64) in magnitude.
Rounded round_product(Wide x, Wide factor);
/// A small integer as a float.
Wide small_to_floating(Wide integer, Wide like);

/// e^x * 2^shift, right through overflow and into the denormal numbers.
Wide exp_shifted(Wide x, int shift);
/// 2^x, exact for whole x: 1.0 / 1.1.
Wide exp2(Wide x);
/// e^(x + tail) for a small tail.
Wide exp_sum(Wide x, Wide tail);

/// An unevaluated sum of two f64, |low| below half a unit of high.
struct Pair {
    Wide high, low;
};
/// Exact (T. J. Dekker, 1971): `a` is the larger one.
inline Pair quick_sum(Wide a, Wide b) {
    const Wide sum = a + b;
    return {sum, (a - sum) + b};
}
/// Exact (D. E. Knuth), whichever is larger.
inline Pair exact_sum(Wide a, Wide b) {
    const Wide sum = a + b;
    const Wide of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
}
/// Exact. Through a true fma: where the target has none it is a library call, and slow.
inline Pair product(Wide a, Wide b) {
    const Wide high = a * b;
    return {high, fused_multiply_add(a, b, -high)};
}
/// The logarithm of a finite positive f64 to about 2^-65.
Pair log_pair(Wide x);

/// sin(pi x) for x >= 0.
Wide sin_pi(Wide x);

/// x = 2^exponent * (1 + fraction), sqrt(1/2) <= 1 + fraction < sqrt(2); for 0 < x < inf.
struct Decomposed {
    Wide exponent;
    Wide fraction;
};
Decomposed decompose(Wide x);

/// The library function of x in the lanes where the condition holds. The call is jumped over when
/// there is none.
Wide library_where(Wide condition, Op op, Wide x, Wide otherwise);

}  // namespace ricci::codegen::cpu
