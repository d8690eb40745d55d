// codegen/cpu/math_power.cpp – pow, cbrt, hypot
#include <cmath>
#include <optional>

#include <llvm/ADT/APFloat.h>
#include <llvm/IR/Constants.h>

#include "codegen/cpu/math.h"
#include "codegen/cpu/math_parts.h"
#include "codegen/cpu/operations.h"

namespace ricci::codegen::cpu {

namespace {

/// To about 2^-65, relative.
Pair product(Pair a, Pair b) {
    const Pair high = product(a.high, b.high);
    return {high.high, high.low + (a.high * b.low + a.low * b.high)};
}

/// |x|^y for f64, with the ends of the logarithm.
Wide magnitude_f64(Wide x, Wide y) {
    const Pair l = log_pair(x);
    const Wide end = select(x == 0.0, -infinity(x), x);  // inf and NaN are their own logarithm
    const Wide is_inside = (x > 0.0) & (x < infinity(x));
    const Wide high = y * select(is_inside, l.high, end);
    const Wide low = fused_multiply_add(y, l.high, -high) + y * l.low;
    // Beyond this the power is 0 or infinite, and `low` may be anything.
    return exp_sum(high, select(is_inside & (abs(high) < 1024.0), low, x.number(0)));
}

/// The same for f32, in f64: no pairs are needed.
Wide magnitude_f32(Wide x, Wide y) {
    const Wide exponent =
        convert(y, DType::f32, DType::f64) * log(convert(x, DType::f32, DType::f64));
    return convert(exp(exponent), DType::f64, DType::f32);
}

/// The number that is in all lanes, if that is known.
std::optional<double> constant(Wide x) {
    const auto* value = llvm::dyn_cast<llvm::Constant>(x.value());
    if (value != nullptr && value->getType()->isVectorTy()) value = value->getSplatValue();
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(value);
    if (number == nullptr) return std::nullopt;
    llvm::APFloat as_double = number->getValueAPF();
    bool loses = false;
    as_double.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return as_double.convertToDouble();
}

/// Of a base whose logarithm is at hand: of powers of 2 whose product with y is exact, and of f32
/// in f64.
std::optional<Wide> power_of_constant(double base, Wide y) {
    if (!(base > 0) || !std::isfinite(base) || base == 1) return std::nullopt;
    const double exponent = std::log2(base);
    const auto is_power = [](double number) {
        int ignored = 0;
        return std::abs(std::frexp(number, &ignored)) == 0.5;
    };
    if (is_power(base) && is_power(exponent)) return exp2(y * exponent);
    if (y.is_double()) return std::nullopt;
    return convert(exp(convert(y, DType::f32, DType::f64) * std::log(base)), DType::f64,
                   DType::f32);
}

}  // namespace

// 2s + s z (2/3 + z g(z)), z = s^2.
Pair log_pair(Wide x) {
    const auto [e, f] = decompose(x);
    const Pair denominator = quick_sum(f.number(2), f);
    const Wide s_high = f / denominator.high;
    const Wide rest = fused_multiply_add(-s_high, denominator.high, f);
    const Pair s = {s_high, (rest - s_high * denominator.low) / denominator.high};

    const Pair z = product(s, s);
    const Wide tail =
        z.high * polynomial(z.high, {0.3999999999999998, 0.28571428571445212, 0.22222222217511411,
                                     0.18181818873403771, 0.15384556659454221, 0.1333632558330346,
                                     0.11674652322235078, 0.11990400616160173});
    Pair factor = quick_sum(f.number(0.66666666666666663), tail);
    factor.low += f.number(3.7007434154171883e-17);
    const Pair cubic = product(s, product(z, factor));
    const Pair fraction = quick_sum(s.high + s.high, cubic.high);
    const Wide fraction_low = fraction.low + (s.low + s.low + cubic.low);

    const Pair sum = quick_sum(e * 0.69314718048553913832, fraction.high);
    return {sum.high, sum.low + multiply_add(e, 7.4406171100123968e-11, fraction_low)};
}

Wide pow(Wide x, Wide y) {
    if (const std::optional<double> base = constant(x))
        if (const std::optional<Wide> power = power_of_constant(*base, y)) return *power;
    const Wide a = abs(x);
    const Wide one = x.number(1);
    Wide result = x.is_double() ? magnitude_f64(a, y) : magnitude_f32(a, y);
    // 1^y = x^0 = 1 for all, NaN included, and (-1)^inf = 1.
    result = select((a == 1.0) & (abs(y) == infinity(y)), one, result);

    const Wide is_whole = trunc(y) == y;
    const Wide half = y * 0.5;
    // Every number of such a size is even; so is inf.
    const Wide is_odd = is_whole & (trunc(half) != half) & (abs(y) < infinity(y));
    const Wide is_negative = x.as_integer() < x.as_integer().integer(0);
    result = select(is_odd & is_negative, -result, result);
    const Wide is_undefined = (x < 0.0) & !is_whole & (a < infinity(x));
    result = select(is_undefined, not_a_number(x), result);
    return select((x == 1.0) | (y == 0.0), one, result);
}

Wide cbrt(Wide x) {
    const Wide a = abs(x);
    // One step of Newton's from e^(log(a)/3) leaves the error of its own arithmetic alone. Powers
    // of two keep it away from overflow and from the denormal numbers.
    const Wide is_tiny = a < pick(x, 0x1p-60, 0x1p-600);
    const Wide is_huge = a > pick(x, 0x1p60, 0x1p600);
    const auto choose = [&](Wide tiny, Wide huge) {
        return select(is_tiny, tiny, select(is_huge, huge, x.number(1)));
    };
    const Wide scaled = a * choose(pick(x, 0x1p90, 0x1p600), pick(x, 0x1p-90, 0x1p-600));
    const Wide y = exp(log(scaled) * (1.0 / 3));
    const Wide square = y * y;
    const Wide better = y - multiply_add(square, y, -scaled) / (3.0 * square);
    const Wide root = better * choose(pick(x, 0x1p-30, 0x1p-200), pick(x, 0x1p30, 0x1p200));
    const Wide is_ordinary = (a > 0.0) & (a < infinity(x));
    return select(is_ordinary, copy_sign(root, x), x);
}

Wide hypot(Wide x, Wide y) {
    const Wide is_infinite = (abs(x) == infinity(x)) | (abs(y) == infinity(y));
    if (!x.is_double()) {
        const Wide a = convert(x, DType::f32, DType::f64);
        const Wide b = convert(y, DType::f32, DType::f64);
        const Wide root = convert(sqrt(multiply_add(a, a, b * b)), DType::f64, DType::f32);
        return select(is_infinite, infinity(x), root);
    }
    // Scaled so that no square leaves the range.
    const Wide larger = nan_max(abs(x), abs(y));
    const Wide factor = select(larger > 0x1p500, x.number(0x1p-600),
                               select(larger < 0x1p-400, x.number(0x1p600), x.number(1)));
    const Wide back = select(larger > 0x1p500, x.number(0x1p600),
                             select(larger < 0x1p-400, x.number(0x1p-600), x.number(1)));
    const Wide a = x * factor;
    const Wide b = y * factor;
    return select(is_infinite, infinity(x), sqrt(multiply_add(a, a, b * b)) * back);
}

}  // namespace ricci::codegen::cpu
