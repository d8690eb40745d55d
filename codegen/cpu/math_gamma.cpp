// codegen/cpu/math_gamma.cpp – the gamma function, its logarithm and that one's derivative
//
// All in f64, f32 too: these are long enough that no one calls them often, and f32 is then right to
// half a unit.
#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"
#include "codegen/cpu/operations.h"

namespace ricci::codegen::cpu {

namespace {

Wide widened(Wide x) { return x.is_double() ? x : convert(x, DType::f32, DType::f64); }
Wide narrowed(Wide y, Wide like) {
    return like.is_double() ? y : convert(y, DType::f64, DType::f32);
}

/// C. Lanczos' approximation (1964) for 13 terms, coefficients of Boost.Math's lanczos13m53:
/// gamma(x) = numerator/(x denominator) w^(x-1/2) e^-w, w = x + shift.
constexpr double lanczos_shift = 5.524680040776729583740234375;

Wide lanczos_numerator(Wide x) {
    return polynomial(
        x,
        {23531376880.41075968857200767445163675473076, 42919803642.64909876895789904700198885093263,
         35711959237.35566804944018545154716670596718, 17921034426.03720969991975575445893111267403,
         6039542586.352028005064291644307297921069939, 1439720407.311721673663223072794912393972734,
         248874557.8620541565114603864132294232163077, 31426415.58540019438061423162831820536287787,
         2876370.628935372441225409051620849613599112, 186056.2653952234950402949897160456992822505,
         8071.672002365816210638002902272250613822, 210.8242777515793458725097339207133627117,
         2.506628274631000270164908177133837338626});
}
Wide lanczos_denominator(Wide x) {
    return polynomial(x, {39916800, 120543840, 150917976, 105258076, 45995730, 13339535, 2637558,
                          357423, 32670, 1925, 66, 1});
}

Wide gamma_f64(Wide x) {
    // gamma(-a) = -pi / (a sin(pi a) gamma(a)). Beyond the limit it is infinite, below it 0.
    const Wide is_left = x < 0.0;
    const Wide a = abs(x);
    const Wide z = quick_min(x.number(190), a);
    const Pair w = exact_sum(z, z.number(lanczos_shift));
    const Pair logarithm = log_pair(w.high);
    const Wide m = z - 0.5;
    const Pair power = product(m, logarithm.high);
    const Pair sum = exact_sum(power.high, -w.high);
    const Wide drift = w.low * (-0.5 - lanczos_shift) / w.high;
    const Wide low = sum.low + (multiply_add(m, logarithm.low, power.low) + drift);
    const Wide e = exp_sum(select(is_left, -sum.high, sum.high), select(is_left, -low, low));

    const Wide numerator = lanczos_numerator(z);
    const Wide denominator = lanczos_denominator(z);
    const Wide above = select(is_left, denominator * -M_PI, numerator);
    const Wide below = select(is_left, sin_pi(a) * numerator, z * denominator);
    const Wide y = above / below * e;
    const Wide is_pole = is_left & (trunc(x) == x);
    // Near 0 the quotient would overflow before the power makes it smaller.
    return select(a < 0x1p-60, 1.0 / x, select(is_pole, not_a_number(x), y));
}

/// For x >= 0. Below 8 the argument is moved into [3/2, 5/2), where lgamma(2+u) = u g(u), and the
/// logarithm of the factors between is put in; from 8 on Stirling's series.
Wide lgamma_f64(Wide x) {
    const Wide one = x.number(1);
    const Wide is_first = x < 0.5;
    const Wide is_second = x < 1.5;
    Wide u = select(is_first, x, select(is_second, x - 1.0, x - 2.0));
    Wide factors = select(is_first, x * (x + 1.0), select(is_second, x, one));
    for (int step = 0; step < 6; ++step) {
        const Wide goes_down = u >= 0.5;
        u = select(goes_down, u - 1.0, u);
        factors = select(goes_down, factors * (u + 2.0), factors);
    }
    const Wide is_small = x < 8.0;
    const Wide logarithm = log(select(is_small, factors, x));
    const Wide g =
        polynomial(u, {0.42278433509846713, 0.32246703342411331, -0.067352301053195757,
                       0.020580808427765891, -0.007385551028925825, 0.0028905103318455061,
                       -0.0011927539013065125, 0.0005096694950203881, -0.00022315497266430274,
                       9.9457945360664228e-05, -4.4923768138016047e-05, 2.0503535554833296e-05,
                       -9.4560984558471286e-06, 4.3935549161344734e-06, -1.9747742853714433e-06,
                       8.9982913501086549e-07, -5.8066838226095717e-07, 2.9776911833337298e-07});
    const Wide small = multiply_add(u, g, select(is_second, -logarithm, logarithm));

    const Wide inverse = 1.0 / x;
    const Wide series = polynomial(
        inverse * inverse, {0.083333333333333329, -0.0027777777777741003, 0.00079365078983592466,
                            -0.0005952366072618715, 0.00084147288931504436, -0.0018905423142586571,
                            0.0050693009903539175});
    const Wide tail = multiply_add(series, inverse, 0.91893853320467274178);
    const Wide large =
        multiply_add(x, logarithm - 1.0, multiply_add(logarithm, x.number(-0.5), tail));
    return select(is_small, small, select(x == infinity(x), x, large));
}

/// For x >= 0. Below 8 the argument is moved into [1, 2], where the function is (x - root) g, and
/// the sum of what lies between is put in as one fraction; from 8 on the asymptotic series.
Wide digamma_f64(Wide x) {
    const Wide is_first = x < 1.0;
    Wide y = select(is_first, x + 1.0, x);
    Wide above = select(is_first, x.number(-1), x.number(0));
    Wide below = select(is_first, x, x.number(1));
    for (int step = 0; step < 6; ++step) {
        const Wide goes_down = y > 2.0;
        const Wide next = y - 1.0;
        above = select(goes_down, multiply_add(above, next, below), above);
        below = select(goes_down, below * next, below);
        y = select(goes_down, next, y);
    }
    const Wide g = polynomial(
        y - 1.5, {0.95105587603183295,    -0.42362742128146058,    0.24054248424077393,
                  -0.14840492305389008,   0.094988724454979814,    -0.061922133274696596,
                  0.040760833810399869,   -0.026975796691124536,   0.017907252493112997,
                  -0.011908219424138857,  0.0079269438288676018,   -0.0052799461725304246,
                  0.0035190139768140304,  -0.0023454216498579525,  0.0015565883389455468,
                  -0.0010368367402002684, 0.00072347684060281383,  -0.00048475028033990948,
                  0.00022694555476976083, -0.00014693728980611349, 0.0002599187430712297,
                  -0.00017659750000611913});
    const Wide from_root = (y - 1.4616321449683622) - 9.5499954299656977e-17;
    const Wide small = multiply_add(from_root, g, above / below);

    const Wide inverse = 1.0 / x;
    const Wide square = inverse * inverse;
    const Wide series =
        polynomial(square, {0.083333333333333329, -0.008333333333280445, 0.0039682539133004055,
                            -0.0041666451898402877, 0.0075717348012002287, -0.020700553661235643,
                            0.063676187169204548});
    const Wide large = log(x) - multiply_add(square, series, 0.5 * inverse);
    return select(x < 8.0, small, large);
}

}  // namespace

Wide gamma(Wide x) { return narrowed(gamma_f64(widened(x)), x); }

Wide lgamma(Wide x) {
    const Wide y = narrowed(lgamma_f64(widened(abs(x))), x);
    return library_where(x < 0.0, Op::lgamma, x, y);
}

Wide digamma(Wide x) {
    const Wide y = narrowed(digamma_f64(widened(x)), x);
    return library_where(x < 0.0, Op::digamma, x, y);
}

}  // namespace ricci::codegen::cpu
