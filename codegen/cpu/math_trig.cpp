// codegen/cpu/math_trig.cpp – trigonometric functions and their inverses
//
// Reduction by multiples of pi/2 kept in three pieces of 33 bits (fdlibm's e_rem_pio2.c; the
// products are exact up to 2^20 multiples); beyond that, the library's function. f32 is reduced in
// f64, where one piece and a rest are enough.
#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"
#include "codegen/cpu/operations.h"

namespace ricci::codegen::cpu {

namespace {

constexpr double largest_reduced = 0x1p20;

/// x = quadrant * pi/2 + angle + tail, |angle| <= pi/4.
struct Reduced {
    Wide quadrant;  ///< integer
    Wide angle;
    Wide tail;
};

Reduced reduce_f64(Wide x) {
    const auto [n, quadrant] = round_product(x, x.number(0.63661977236758138));
    const Wide first = x - n * 1.5707963267341256142;
    const Wide second = n * 6.0771005063039659766e-11;
    const Wide rest = first - second;
    const Wide third = n * 2.0222662487111664558e-21;
    const Wide angle = rest - third;
    const Wide lost =
        ((first - rest) - second) + ((rest - angle) - third) - n * 8.47842766036889957e-32;
    const Wide sum = angle + lost;
    return {quadrant, sum, (angle - sum) + lost};
}

Reduced reduce_f32(Wide x) {
    const Wide wide = convert(x, DType::f32, DType::f64);
    const auto [n, quadrant] = round_product(wide, wide.number(0.63661977236758138));
    const Wide rest = wide - n * 1.5707963267341256142;
    const Wide angle = multiply_add(n, -6.0771005065061922e-11, rest);
    return {truncate_integer(quadrant, x.as_integer()), convert(angle, DType::f64, DType::f32),
            x.number(0)};
}

Reduced reduce(Wide x) { return x.is_double() ? reduce_f64(x) : reduce_f32(x); }

/// sin(x + tail) for |x| <= pi/4.
Wide sin_core(Wide x, Wide tail) {
    const Wide z = x * x;
    const Wide p =
        polynomial(z, {-0.166666552, 0.00833217334, -0.000195166678},
                   {-0.16666666666666632, 0.008333333333322316, -0.00019841269829726108,
                    2.7557313662558779e-06, -2.5050753383658016e-08, 1.5896511556558911e-10});
    const Wide cubic = multiply_add(z * x, p, multiply_add(-0.5 * z, tail, tail));
    return x + cubic;
}

/// cos(x + tail) for |x| <= pi/4: 1 - z/2 with what that subtraction loses put back.
Wide cos_core(Wide x, Wide tail) {
    const Wide z = x * x;
    const Wide p =
        polynomial(z, {0.0416666456, -0.00138873619, 2.44377534e-05},
                   {0.041666666666666602, -0.0013888888888873997, 2.4801587289398352e-05,
                    -2.7557314326974954e-07, 2.0875719681392973e-09, -1.13594547747568e-11});
    const Wide half = 0.5 * z;
    const Wide leading = 1.0 - half;
    const Wide lost = (1.0 - leading) - half;
    return leading + (lost + multiply_add(z * z, p, -(x * tail)));
}

/// The sine of an angle `quarters` quarter turns further.
Wide sine_from(Wide x, int quarters) {
    const auto [quadrant, angle, tail] = reduce(x);
    const Wide q = quadrant + quadrant.integer(quarters);
    const Wide is_odd = (q & q.integer(1)) != q.integer(0);
    const Wide y = select(is_odd, cos_core(angle, tail), sin_core(angle, tail));
    const int sign_shift = x.is_double() ? 62 : 30;
    const Wide flip = (q & q.integer(2)) << sign_shift;
    return (y.as_integer() ^ flip).as_floating();
}

/// atan(t), |t| <= tan(pi/8), less t.
Wide atan_tail(Wide t) {
    const Wide z = t * t;
    const Wide p = polynomial(
        z, {-0.333333164, 0.199984848, -0.142437443, 0.105951801, -0.0608125925},
        {-0.33333333333333198, 0.19999999999953672, -0.14285714280204764, 0.11111110783845862,
         -0.090908977678560612, 0.076920603741926816, -0.066631055885767371, 0.058478983432792925,
         -0.050393351803873963, 0.038065069518798206, -0.017907475415552862});
    return t * z * p;
}

/// asin(x) for |x| <= 1/2.
Wide asin_core(Wide x, Wide z) {
    const Wide p = polynomial(
        z, {0.166667536, 0.0749523416, 0.0454781763, 0.0241418462, 0.0422290228},
        {0.16666666666666763, 0.074999999999700903, 0.044642857175293059, 0.030381942674996967,
         0.022372215912507824, 0.017351595402546896, 0.013981019492351763, 0.011397286660211279,
         0.010789350336174883, 0.0036720953505048905, 0.021790824231983707, -0.021116920967290561,
         0.032702262023149152});
    return multiply_add(x * z, p, x);
}

Wide half_pi(Wide x) { return pick(x, 1.57079637, M_PI_2); }
Wide half_pi_lower(Wide x) { return pick(x, -4.37113883e-08, 6.123233995736766e-17); }

/// atan(a / b) for 0 <= a, 0 < b, in one division: a multiple of pi/4 and a small angle.
Wide atan_ratio(Wide a, Wide b) {
    const Wide is_steep = a * 0.41421356237309503 > b;
    const Wide is_middle = a > b * 0.41421356237309503;
    const Wide numerator = select(is_steep, -b, select(is_middle, a - b, a));
    const Wide denominator = select(is_steep, a, select(is_middle, a + b, b));
    const Wide t = numerator / denominator;
    const Wide zero = a.number(0);
    const Wide upper = select(is_steep, half_pi(a), select(is_middle, 0.5 * half_pi(a), zero));
    const Wide lower =
        select(is_steep, half_pi_lower(a), select(is_middle, 0.5 * half_pi_lower(a), zero));
    return upper + (t + (atan_tail(t) + lower));
}

}  // namespace

Wide sin_pi(Wide x) {
    const Wide whole = round_even(x);
    const Wide rest = abs(x - whole);
    const Wide is_steep = rest <= 0.25;
    const Wide turn = select(is_steep, rest, 0.5 - rest);
    const Wide angle = turn * M_PI;
    const Wide tail =
        fused_multiply_add(turn, turn.number(M_PI), -angle) + turn * 1.2246467991473532e-16;
    const Wide y = select(is_steep, sin_core(angle, tail), cos_core(angle, tail));
    // Odd half turns, and parts below a half turn, change the sign.
    const Wide half = whole * 0.5;
    const Wide is_odd = trunc(half) != half;
    const Wide is_below = x < whole;
    return select(is_odd ^ is_below, -y, y);
}

Wide sin(Wide x) {
    const Wide y = select(x == 0.0, x, sine_from(x, 0));
    return library_where(abs(x) > largest_reduced, Op::sin, x, y);
}

Wide cos(Wide x) { return library_where(abs(x) > largest_reduced, Op::cos, x, sine_from(x, 1)); }

Wide tan(Wide x) {
    const auto [quadrant, angle, tail] = reduce(x);
    const Wide sine = sin_core(angle, tail);
    const Wide cosine = cos_core(angle, tail);
    const Wide is_odd = (quadrant & quadrant.integer(1)) != quadrant.integer(0);
    const Wide y = select(is_odd, -cosine, sine) / select(is_odd, sine, cosine);
    return library_where(abs(x) > largest_reduced, Op::tan, x, select(x == 0.0, x, y));
}

Wide asin(Wide x) {
    const Wide a = abs(x);
    const Wide is_large = a > 0.5;
    const Wide z = select(is_large, multiply_add(a, -0.5, a.number(0.5)), a * a);
    const Wide y = asin_core(select(is_large, sqrt(z), a), z);
    const Wide large = half_pi(x) - (y + y - half_pi_lower(x));
    return copy_sign(select(is_large, large, y), x);
}

Wide acos(Wide x) {
    const Wide a = abs(x);
    const Wide is_large = a > 0.5;
    const Wide z = select(is_large, multiply_add(a, -0.5, a.number(0.5)), a * a);
    const Wide y = asin_core(select(is_large, sqrt(z), x), z);
    const Wide twice = y + y;
    const Wide obtuse = 2.0 * half_pi(x) - (twice - 2.0 * half_pi_lower(x));
    const Wide large = select(x < 0.0, obtuse, twice);
    return select(is_large, large, half_pi(x) - (y - half_pi_lower(x)));
}

Wide atan(Wide x) {
    const Wide a = abs(x);
    return copy_sign(atan_ratio(a, a.number(1)), x);
}

Wide atan2(Wide y, Wide x) {
    // Equal infinities are an angle of pi/4, two zeros one of 0 (or pi).
    const Wide are_infinite = (abs(x) == infinity(x)) & (abs(y) == infinity(x));
    // Scaled so that their sum is finite and neither comparison below is of denormal numbers.
    const Wide is_large = quick_max(abs(x), abs(y)) > 1.0;
    const Wide factor = select(is_large, x.number(0.25), x.number(0x1p60));
    const Wide a = select(are_infinite, x.number(1), abs(y) * factor);
    const Wide b = select(are_infinite, x.number(1), abs(x) * factor);
    const Wide are_zero = (a == 0.0) & (b == 0.0);
    const Wide acute = atan_ratio(a, select(are_zero, b.number(1), b));
    const Wide is_left = x.as_integer() < x.as_integer().integer(0);
    const Wide obtuse = 2.0 * half_pi(x) - (acute - 2.0 * half_pi_lower(x));
    const Wide angle = copy_sign(select(is_left, obtuse, acute), y);
    return select(is_nan(x) | is_nan(y), x + y, angle);
}

}  // namespace ricci::codegen::cpu
