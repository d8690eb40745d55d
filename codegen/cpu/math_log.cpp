// codegen/cpu/math_log.cpp – logarithms and inverse hyperbolic functions
//
// x = 2^e (1+f), s = f/(2+f), log(1+f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R(s^2))): the
// arrangement of fdlibm's e_log.c (Sun Microsystems, 1993), with minimax polynomials of our own.
#include <numbers>

#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"

namespace ricci::codegen::cpu {

namespace {

/// Upper parts of log(2) have zeros at the end: times an exponent they are exact.
Wide log2_upper(Wide x) { return pick(x, 0.693145751953125, 0.69314718048553913832); }
Wide log2_lower(Wide x) { return pick(x, 1.42860677e-06, 7.4406171100123968e-11); }

/// f - log(1+f) = half_square - s (half_square + R).
struct Series {
    Wide half_square;
    Wide correction;  ///< s (half_square + R)
};
Series series(Wide f) {
    const Wide s = f / (f + 2.0);
    const Wide z = s * s;
    const Wide p = polynomial(
        z, {0.666667759, 0.399774998, 0.298729748},
        {0.66666666666667351, 0.3999999999941114, 0.28571428743239791, 0.22222198479261754,
         0.18183569534529184, 0.15313909162232106, 0.14797443521354833});
    const Wide half_square = 0.5 * f * f;
    return {half_square, s * multiply_add(z, p, half_square)};
}

/// The logarithm of a finite positive x.
Wide log_core(Wide x) {
    const auto [e, f] = decompose(x);
    const auto [half_square, correction] = series(f);
    const Wide small = half_square - multiply_add(e, log2_lower(x), correction);
    return multiply_add(e, log2_upper(x), f - small);
}

/// log(1+f) of the fraction alone.
Wide log_fraction(Wide f) {
    const auto [half_square, correction] = series(f);
    return f - (half_square - correction);
}

/// Puts in what every logarithm is at 0, inf and where there is none.
Wide with_ends(Wide x, Wide y) {
    const Wide end = select(x == 0.0, -infinity(x), not_a_number(x));
    return select(x > 0.0, select(x == infinity(x), x, y), end);
}

}  // namespace

Decomposed decompose(Wide x) {
    const int bits = fraction_bits(x);
    const double denormal_scale = x.is_double() ? 0x1p52 : 0x1p23;
    const Wide is_denormal = x < pick(x, 0x1p-126, 0x1p-1022);
    const Wide normal = select(is_denormal, x * denormal_scale, x).as_integer();
    const Wide e = shift_right_arithmetic(normal - x.number(M_SQRT1_2).as_integer(), bits);
    const Wide one_and_fraction = (normal - (e << bits)).as_floating();
    const Wide exponent = small_to_floating(e, x);
    return {select(is_denormal, exponent - double(bits), exponent), one_and_fraction - 1.0};
}

Wide log(Wide x) { return with_ends(x, log_core(x)); }

Wide log2(Wide x) {
    const auto [e, f] = decompose(x);
    return with_ends(x, multiply_add(log_fraction(f), std::numbers::log2e, e));
}

Wide log10(Wide x) {
    const auto [e, f] = decompose(x);
    const Wide lower = e * pick(x, 4.6050389811952138e-06, 5.6303348066750977e-11);
    const Wide sum = multiply_add(log_fraction(f), std::numbers::log10e, lower);
    return with_ends(x, multiply_add(e, pick(x, 0.301025390625, 0.30102999560767784715), sum));
}

Wide log1p(Wide x) {
    const Wide u = x + 1.0;
    // What the sum lost, to first order (W. Kahan): exact where u is 1.
    const Wide lost = select(abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x));
    const Wide is_inside = (u > 0.0) & (u < infinity(x));
    const Wide y = log_core(u) + lost / u;
    return select(x == 0.0, x, select(is_inside, y, with_ends(u, u)));
}

// Where 1 + x is x, asinh and acosh are log(2x); `log1p` does both.
Wide asinh(Wide x) {
    const Wide a = abs(x);
    const Wide is_large = a > pick(x, 0x1p30, 0x1p60);
    const Wide square = a * a;
    const Wide t = a + square / (1.0 + sqrt(square + 1.0));
    const Wide y = log1p(select(is_large, a, t));
    return copy_sign(select(is_large, y + M_LN2, y), x);
}

Wide acosh(Wide x) {
    const Wide is_large = x > pick(x, 0x1p30, 0x1p60);
    const Wide t = x - 1.0;
    const Wide y = log1p(select(is_large, x, t + sqrt(t * (t + 2.0))));
    return select(x >= 1.0, select(is_large, y + M_LN2, y), not_a_number(x));
}

Wide atanh(Wide x) {
    const Wide a = abs(x);
    const Wide twice = a + a;
    // For small a one more step keeps 2a/(1-a) from rounding twice.
    const Wide t = select(a < 0.5, twice + twice * a / (1.0 - a), twice / (1.0 - a));
    return copy_sign(0.5 * log1p(t), x);
}

}  // namespace ricci::codegen::cpu
