// codegen/cpu/math_exp.cpp – exponentials and hyperbolic functions
//
// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2 (Cody and Waite, "Software Manual for the
// Elementary Functions", 1980, ch. 6), e^r by a minimax polynomial. With AVX-512 n is rounded to
// sixteenths, |r| <= ln(2)/32, and the fractions of 2^n come from a table in a register (P. T. P.
// Tang, "Table-driven implementation of the exponential function in IEEE floating-point
// arithmetic", ACM TOMS 15, 1989): two multiply-adds fewer of f32, four of f64, for one
// permutation or two.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

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

/// x - n ln 2. The product of n and the upper part of ln 2 is exact for whole n below 2^9 in f32,
/// 2^20 in f64; of sixteenths where it is not rounded, in an fma.
Wide without_powers(Wide x, Wide n) {
    const Wide rest = multiply_add(n, pick(x, -0.693145751953125, -0.69314718048553913832), x);
    return multiply_add(n, pick(x, -1.42860677e-06, -7.4406171100123968e-11), rest);
}

Reduced reduce(Wide x) {
    const Rounded n = round_product(x, x.number(std::numbers::log2e));
    return {n, without_powers(x, n.whole)};
}

enum class Base : std::uint8_t { e, two };

/// x - n of the base's exponent, as one of e.
Wide what_is_left(Wide x, Wide n, Base base) {
    return base == Base::two ? (x - n) * pick(x, std::numbers::ln2, std::numbers::ln2)
                             : without_powers(x, n);
}

/// e^r - 1. Without AVX-512 schedulers hold too few instructions to do much else while the sums of
/// a polynomial wait for each other; what p loses is small beside r.
Wide expm1_core(Wide r) {
    const Coefficients f32 = {0.49999994, 0.166665196, 0.0416684002, 0.00836877432, 0.00138141331};
    const Coefficients f64 = {0.50000000000000111,    0.1666666666666641,
                              0.041666666666529191,   0.0083333333334956721,
                              0.0013888888943920487,  0.00019841269504583523,
                              2.4801492766227286e-05, 2.7557587551381887e-06,
                              2.7630377046427085e-07, 2.4999887168133558e-08};
    const Coefficients coefficients = r.is_double() ? f64 : f32;
    const Wide p =
        has_avx512(r) ? polynomial(r, coefficients) : polynomial_by_pairs(r, coefficients);
    return multiply_add(r * r, p, r);
}

/// base^(x + tail) 2^shift by two powers of 2 that are normal numbers, since their product may not
/// be. Where it is 0 or infinite x is cut; NaN passes in n and in what is left.
Wide exp_by_polynomial(Wide x, Base base, std::optional<Wide> tail, int shift) {
    const bool is_two = base == Base::two;
    const Wide most = is_two ? pick(x, 130, 1026) : pick(x, 90, 711);
    const Wide least = is_two ? pick(x, -151, -1076) : pick(x, -105, -746);
    const Wide cut = quick_min(most, quick_max(least, x));
    // As round_product(), with what two exponents add to n: both are made of the sum's last bits,
    // and lose the bits above these.
    const int biases = x.is_double() ? 2 * 1023 : 2 * 127;
    const Wide magic = pick(x, 0x1.8p23 + biases + shift, 0x1.8p52 + biases + shift);
    const Wide shifted =
        is_two ? cut + magic
               : multiply_add(cut, pick(x, std::numbers::log2e, std::numbers::log2e), magic);
    const Wide rest = what_is_left(cut, shifted - magic, base);
    const Wide power = shifted.as_integer();
    const Wide half = shift_right(power, 1);
    const Wide one = (half << fraction_bits(x)).as_floating();
    const Wide other = ((power - half) << fraction_bits(x)).as_floating();
    return multiply_add(expm1_core(tail ? rest + *tail : rest), one, one) * other;
}

/// 2^(k/16) for k < 16 in a type, and what each loses by that.
struct Powers {
    std::array<double, table_size> heads{}, tails{};
};
template <class T>
Powers powers_of_sixteenths() {
    Powers powers;
    for (unsigned k = 0; k < table_size; ++k) {
        const auto power = std::exp2(static_cast<long double>(k) / table_size);
        powers.heads[k] = static_cast<T>(power);
        powers.tails[k] = static_cast<T>(power - powers.heads[k]);
    }
    return powers;
}

/// Whether powers of the table are without what they lose: all results of one k are off by the same
/// half a unit, which stays below a unit in all, but not in what is computed of it.
enum class Tails : std::uint8_t { with, without };

/// base^(x + tail) 2^shift with AVX-512's instructions. Where it is 0 or infinite what is left of x
/// is some small number; NaN passes in n.
Wide exp_by_table(Wide x, Base base, std::optional<Wide> tail, int shift, Tails tails_of_powers) {
    static const auto of_f32 = powers_of_sixteenths<float>();
    static const auto of_f64 = powers_of_sixteenths<double>();
    // As round_product(), with four binary places: they are the last bits.
    const Wide magic = pick(x, 0x1.8p19, 0x1.8p48);
    const Wide shifted =
        base == Base::two ? x + magic : multiply_add(x, x.number(std::numbers::log2e), magic);
    const Wide n = shifted - magic;
    const Wide rest = limit_magnitude(what_is_left(x, n, base), x.number(0.5));
    const Wide r = tail ? rest + *tail : rest;
    const Wide p = polynomial(r, {0.500016212, 0.16666685},
                              {0.49999999999999589, 0.16666666664409541, 0.041666666694339223,
                               0.0083334721806759306, 0.0013888575709532704});
    const Wide k = shifted.as_integer();
    const auto& [heads, tails] = x.is_double() ? of_f64 : of_f32;
    const Wide power = look_up(heads, k);
    const Wide q = multiply_add(r, p, x.number(1));
    const Wide y = tails_of_powers == Tails::with
                       ? multiply_add(power * r, q, look_up(tails, k)) + power
                       : multiply_add(power * r, q, power);
    // It rounds n down.
    return scale(y, shift == 0 ? n : n + double(shift));
}

Wide any_exp(Wide x, Base base, std::optional<Wide> tail, int shift, Tails tails = Tails::with) {
    return has_avx512(x) ? exp_by_table(x, base, tail, shift, tails)
                         : exp_by_polynomial(x, base, tail, shift);
}
/// The tails of f32 take a tenth of the time of a sum of exponentials.
Tails quick_tails(Wide x) { return x.is_double() ? Tails::with : Tails::without; }

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

Wide exp_shifted(Wide x, int shift) { return any_exp(x, Base::e, {}, shift); }

Wide exp_sum(Wide x, Wide tail) { return any_exp(x, Base::e, tail, 0); }

Wide exp(Wide x) { return any_exp(x, Base::e, {}, 0, quick_tails(x)); }

Wide exp2(Wide x) { return any_exp(x, Base::two, {}, 0, quick_tails(x)); }

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
    const Wide y = exp_shifted(-abs(x), 0);
    return select(x < 0.0, y, y.number(1)) / (y + 1.0);
}

Wide silu(Wide x) {
    // The root of e^-|x|: below 0 its square may be too small for a number where x times it is not.
    const Wide root = exp_shifted(-0.5 * abs(x), 0);
    const Wide whole = multiply_add(root, root, x.number(1));
    return select(x < 0.0, (x * root) * (root / whole), x / whole);
}

Wide softplus(Wide x) { return quick_max(x, x.number(0)) + log1p(exp_shifted(-abs(x), 0)); }

}  // namespace ricci::codegen::cpu
