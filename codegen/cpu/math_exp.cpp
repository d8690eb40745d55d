// codegen/cpu/math_exp.cpp – exponentials and hyperbolic functions
//
// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2 (Cody and Waite, "Software Manual for the
// Elementary Functions", 1980, ch. 6), e^r by a minimax polynomial.
#include <numbers>

#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"

namespace ricci::codegen::cpu {

namespace {

/// 2^n for -bias < n <= bias + 1.
Wide power_of_two(Wide n, Wide like) {
    const int bias = like.is_double() ? 1023 : 127;
    return ((n + n.integer(bias)) << fraction_bits(like)).as_floating();
}

struct Reduced {
    Rounded n;
    Wide remainder;  ///< x - n ln 2
};

/// For |x| below 2^10: n times the upper part of ln 2 is exact, with and without fma.
Reduced reduce(Wide x) {
    const Rounded n = round_product(x, x.number(std::numbers::log2e));
    const Wide rest =
        multiply_add(n.whole, pick(x, -0.693145751953125, -0.69314718048553913832), x);
    return {n, multiply_add(n.whole, pick(x, -1.42860677e-06, -7.4406171100123968e-11), rest)};
}

/// e^r - 1.
Wide expm1_core(Wide r) {
    const Wide p = polynomial(
        r, {0.49999994, 0.166665196, 0.0416684002, 0.00836877432, 0.00138141331},
        {0.50000000000000111, 0.1666666666666641, 0.041666666666529191, 0.0083333333334956721,
         0.0013888888943920487, 0.00019841269504583523, 2.4801492766227286e-05,
         2.7557587551381887e-06, 2.7630377046427085e-07, 2.4999887168133558e-08});
    return multiply_add(r * r, p, r);
}

/// y 2^(n + shift), rounded once: without an instruction for it by two powers that are normal
/// numbers.
Wide scale(Wide y, const Rounded& n, int shift) {
    if (has_avx512(y)) return scale(y, shift == 0 ? n.whole : n.whole + double(shift));
    const Wide power = n.integer + n.integer.integer(shift);
    const Wide half = shift_right_arithmetic(power, 1);
    return y * power_of_two(half, y) * power_of_two(power - half, y);
}

/// Of any x: where e^x is 0 or infinite the remainder is some small number. NaN passes: in n where
/// AVX-512 scales by it, else in both.
Reduced reduce_any(Wide x) {
    if (!has_avx512(x))
        return reduce(quick_min(pick(x, 90, 711), quick_max(pick(x, -105, -746), x)));
    const auto [n, r] = reduce(x);
    return {n, limit_magnitude(r, r.number(0.5))};
}

}  // namespace

Rounded round_product(Wide x, Wide factor) {
    const Wide magic = pick(x, 0x1.8p23, 0x1.8p52);
    const Wide shifted = multiply_add(x, factor, magic);
    return {shifted - magic, shifted.as_integer() - magic.as_integer()};
}

Wide small_to_floating(Wide integer, Wide like) {
    const Wide magic = pick(like, 0x1.8p23, 0x1.8p52);
    return (integer + magic.as_integer()).as_floating() - magic;
}

Wide exp_shifted(Wide x, int shift) {
    const auto [n, r] = reduce_any(x);
    return scale(expm1_core(r) + 1.0, n, shift);
}

Wide exp_sum(Wide x, Wide tail) {
    const auto [n, r] = reduce_any(x);
    return scale(expm1_core(r + tail) + 1.0, n, 0);
}

Wide exp(Wide x) { return exp_shifted(x, 0); }

Wide expm1(Wide x) {
    // Below the limit the result is -1, and 2^n is far from the denormal numbers.
    const Wide limit = pick(x, -30, -45);
    const auto [n, r] = reduce(quick_min(pick(x, 89, 710), quick_max(limit, x)));
    // 2^n (e^r - 1) + 2^n - 1 in halves: 2^n itself may be infinite where the result is not.
    const Wide half = power_of_two(n.integer - n.integer.integer(1), x);
    const Wide y = multiply_add(half, expm1_core(r), half - 0.5);
    // The sum would lose the sign of a zero.
    return select(x == 0.0, x, y + y);
}

Wide sinh(Wide x) {
    const Wide a = abs(x);
    const Wide z = x * x;
    const Wide p = polynomial(
        z, {0.166666672, 0.00833335053, 0.000198360562, 2.81749976e-06},
        {0.16666666666666669, 0.0083333333333331372, 0.00019841269841438508, 2.755731915506845e-06,
         2.505212344234025e-08, 1.6057236844727255e-10, 7.7594208817207336e-13});
    const Wide small = multiply_add(x * z, p, x);
    const Wide half = exp_shifted(a, -1);
    return select(a <= 1.0, small, copy_sign(half - 0.25 / half, x));
}

Wide cosh(Wide x) {
    const Wide half = exp_shifted(abs(x), -1);
    return half + 0.25 / half;
}

Wide tanh(Wide x) {
    // (e^2a - 1) / (e^2a + 1), which is 1 from the limit on.
    const Wide a = quick_min(pick(x, 10, 20), abs(x));
    const Wide y = expm1(a + a);
    return copy_sign(y / (y + 2.0), x);
}

Wide sigmoid(Wide x) {
    // Both forms have e^-|x|, which cannot overflow.
    const Wide y = exp(-abs(x));
    return select(x < 0.0, y, y.number(1)) / (y + 1.0);
}

Wide silu(Wide x) {
    // The root of e^-|x|: below 0 its square may be too small for a number where x times it is not.
    const Wide root = exp(-0.5 * abs(x));
    const Wide whole = multiply_add(root, root, x.number(1));
    return select(x < 0.0, (x * root) * (root / whole), x / whole);
}

Wide softplus(Wide x) { return quick_max(x, x.number(0)) + log1p(exp(-abs(x))); }

}  // namespace ricci::codegen::cpu
