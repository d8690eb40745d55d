// codegen/cpu/math_erf.cpp – error functions, gelu
#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"

namespace ricci::codegen::cpu {

namespace {

/// Beyond this erfc is 0.
Wide erfc_limit(Wide x) { return pick(x, 11, 28); }

/// e^(a^2) erfc(a) for 0 <= a up to the limit: one plus a polynomial of t = (a-k)/(a+k), over 1 +
/// 2a (M. M. Shepherd and J. G. Laframboise, 1981). Both quotients are corrected by what they leave
/// (after N. Juffa).
Wide scaled_erfc(Wide a) {
    const double k = a.is_double() ? 4 : 2;
    const Wide to_k = a + k;
    const Wide to_half = a + 0.5;
    const Wide inverse = 1.0 / (to_k * to_half);
    const Wide by_k = inverse * to_half;
    const Wide ratio = (a - k) * by_k;
    const Wide left =
        fused_multiply_add(ratio, -a, fused_multiply_add(ratio + 1.0, a.number(-k), a));
    const Wide t = fused_multiply_add(by_k, left, ratio);
    const Wide p =
        polynomial(t,
                   {0.276978403, -0.0927639827, -0.166031435, 0.164055362, -0.0542042218,
                    -0.00805992913, 0.00863137841, 0.00131348777, -0.00122955523, -0.000400360586},
                   {0.23299511862555256,    -0.13962111684056316,    0.015379652102605897,
                    0.068097054254762979,   -0.10103906603555141,    0.093732834996226769,
                    -0.066330365828371415,  0.037167515565480404,    -0.016197733878528648,
                    0.0050319697891318266,  -0.00075777445392892864, -0.0001992560253724558,
                    0.00015062638977593636, -2.4400232468476449e-05, -1.1234160189988754e-05,
                    5.7089990484167146e-06, 3.1345745364101646e-07,  -8.1997700766675258e-07,
                    5.560873336868896e-08,  1.0152007920849842e-07,  -8.2198981927527819e-09,
                    -8.4416650597225208e-09});
    const Wide half_inverse = inverse * to_k * 0.5;
    const Wide quotient = multiply_add(p, half_inverse, half_inverse);
    const Wide rest = (p - quotient) + fused_multiply_add(quotient + quotient, -a, a.number(1));
    return multiply_add(rest, half_inverse, quotient);
}

}  // namespace

Wide erf(Wide x) {
    const Wide a = abs(x);
    const Wide small =
        x * polynomial(x * x,
                       {1.12837911, -0.37612626, 0.112835996, -0.0268544033, 0.0051894472,
                        -0.000801997201, 7.8859448e-05},
                       {1.1283791670955126, -0.37612638903183748, 0.11283791670954882,
                        -0.026866170645077351, 0.005223977624823066, -0.00085483269811022016,
                        0.00012055331120632759, -1.4925595463812653e-05, 1.6461003343072603e-06,
                        -1.6350339883319155e-07, 1.4659937561975518e-08, -1.1373398777213811e-09,
                        5.9579790821439163e-11});
    // 1 - e^-g(a); at the limit that is 1.
    const Wide g =
        polynomial(quick_min(pick(x, 4, 6), a),
                   {-0.000188033038, 1.12957835, 0.633219957, 0.108418509, -0.0252082162,
                    0.00420454703, -0.000441333454, 2.16866083e-05},
                   {-2.6705619049344992e-08, 1.1283795079921464,      0.63661771479329099,
                    0.10278041640708241,     -0.019149394743183109,   -0.00016701444131263221,
                    0.0016299835829405446,   -0.00050709397851343295, -5.8530864917829662e-05,
                    0.00013463978641554833,  -7.7443814645730916e-05, 2.9777273878793833e-05,
                    -8.7230755532762032e-06, 2.0232216701579382e-06,  -3.7477641997714844e-07,
                    5.5057050156575507e-08,  -6.288791090037936e-09,  5.3916085191959089e-10,
                    -3.265464179318313e-11,  1.2455892511027789e-12,  -2.2494758006648481e-14});
    return select(a < 1.0, small, copy_sign(1.0 - exp(-g), x));
}

Wide erfc(Wide x) {
    const Wide a = quick_min(erfc_limit(x), abs(x));
    const Pair square = product(a, a);
    const Wide y = scaled_erfc(a) * exp_sum(-square.high, -square.low);
    return select(x < 0.0, 2.0 - y, y);
}

Wide gelu(Wide x) {
    // With a = |x| and R(a) = e^(a^2/2) erfc(a/sqrt(2))/2 it is -a R(a) e^(-a^2/2) below 0, and x
    // less that above. R(a) is a polynomial of t = (a-k)/(a+k), over a+k. The square is of x
    // itself: that of x/sqrt(2) rounded would be off by many units.
    // Above 9 it is x, far below it is 0, and 0 stands in for a: products that are too small for a
    // number take processors several times as long as others.
    const Wide is_near = (x >= -pick(x, 14.4, 38.6)) & (x <= 9.0);
    const Wide a = select(is_near, abs(x), x.number(0));
    // Of a small quotient t is 2 quotient - 1 with no error but its own rounding.
    const Wide quotient = a / (a + pick(x, 3.75, 4));
    const Wide t = multiply_add(quotient, 2.0, quotient.number(-1));
    const Wide share =
        quotient *
        polynomial(t,
                   {0.750294089, -0.588188291, 0.352939606, -0.151520833, 0.0374925062,
                    0.00120007724, -0.00416901382, 0.00050962501, 0.000443445984},
                   {0.75528513041575152,     -0.60789664197189075,    0.38713740074222258,
                    -0.18652185795979609,    0.060396574890553854,    -0.0075401889625000022,
                    -0.0034796923598991508,  0.0016308183991624418,   0.00013334423252321409,
                    -0.0002310944944991631,  -1.9077338373809833e-06, 3.5142703398513402e-05,
                    7.1442449522086566e-07,  -5.9146481029478234e-06, -6.2336239508834352e-07,
                    1.012062217515794e-06,   2.6010446964149412e-07,  -1.455471420810437e-07,
                    -7.1865820103978296e-08, 9.0494577853170255e-09,  1.0728312929300407e-08,
                    1.586071849497151e-09});
    const Pair square = product(a, a);
    const Wide power = exp_sum(-0.5 * square.high, -0.5 * square.low);
    // Of what is below 0 that leaves -0, and NaN of what is infinite.
    const Wide above = select(x < 0.0, x * 0.0, x);
    return multiply_add(-share, power, above);
}

}  // namespace ricci::codegen::cpu
