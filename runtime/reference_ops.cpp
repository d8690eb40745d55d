// runtime/reference_ops.cpp – what every operation means, on one scalar at a time
#include "runtime/reference_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "dsl/scalar_function.h"
#include "runtime/element.h"

namespace ricci::runtime {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// --- values --------------------------------------------------------------------------------------

/// psi(x) = d/dx log gamma(x): reflection for negative x, recurrence up to 10, then the asymptotic
/// series, whose first term left out is below 1e-16. Wider than double inside, since near its root
/// the parts cancel. Source: Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18.
double digamma(double at) {
    if (at == 0) return std::copysign(infinity, -at);
    if (at < 0 && at == std::floor(at)) return std::numeric_limits<double>::quiet_NaN();
    if (at < 0) return digamma(1 - at) - std::numbers::pi / std::tan(std::numbers::pi * at);
    long double x = at;
    long double result = 0;
    for (; x < 10; x += 1) result -= 1 / x;
    constexpr std::array<long double, 7> coefficients = {
        1.0L / 12, -1.0L / 120, 1.0L / 252, -1.0L / 240, 1.0L / 132, -691.0L / 32760, 1.0L / 12};
    const long double s = 1 / (x * x);
    long double series = 0;
    for (std::size_t n = coefficients.size(); n > 0; --n)
        series = s * (coefficients[n - 1] + series);
    return static_cast<double>(result + std::log(x) - 0.5L / x - series);
}

double larger(double x, double y) { return std::isnan(x) || x > y ? x : y; }
double smaller(double x, double y) { return std::isnan(x) || x < y ? x : y; }

double floored_remainder(double x, double y) {
    const double r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/// The floor of the exact quotient, not of the rounded one: 1 // 0.1 is 9.
double floored_quotient(double x, double y) {
    if (y == 0 || !std::isfinite(x)) return std::floor(x / y);
    const double r = std::fmod(x, y);
    const double whole = std::nearbyint((x - r) / y);
    return r != 0 && (r < 0) != (y < 0) ? whole - 1 : std::copysign(whole, x / y);
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// NOLINTNEXTLINE(readability-function-size): a row for each operation
double real_value(Op op, std::span<const Scalar> args) {
    const double x = args[0].real;
    const double y = args.size() > 1 ? args[1].real : 0;
    const double z = args.size() > 2 ? args[2].real : 0;
    if (const ScalarFunction* function = registered(op))
        return call(*function, std::array{x, y, z});
    switch (op) {
        case Op::neg:         return -x;
        case Op::div:         return x / y;
        case Op::floordiv:    return floored_quotient(x, y);
        case Op::mod:         return floored_remainder(x, y);
        case Op::pow:         return std::pow(x, y);
        case Op::exp:         return std::exp(x);
        case Op::expm1:       return std::expm1(x);
        case Op::log:         return std::log(x);
        case Op::log1p:       return std::log1p(x);
        case Op::log2:        return std::log2(x);
        case Op::log10:       return std::log10(x);
        case Op::sqrt:        return std::sqrt(x);
        case Op::rsqrt:       return 1 / std::sqrt(x);
        case Op::cbrt:        return std::cbrt(x);
        case Op::sin:         return std::sin(x);
        case Op::cos:         return std::cos(x);
        case Op::tan:         return std::tan(x);
        case Op::asin:        return std::asin(x);
        case Op::acos:        return std::acos(x);
        case Op::atan:        return std::atan(x);
        case Op::atan2:       return std::atan2(x, y);
        case Op::sinh:        return std::sinh(x);
        case Op::cosh:        return std::cosh(x);
        case Op::tanh:        return std::tanh(x);
        case Op::asinh:       return std::asinh(x);
        case Op::acosh:       return std::acosh(x);
        case Op::atanh:       return std::atanh(x);
        case Op::erf:         return std::erf(x);
        case Op::erfc:        return std::erfc(x);
        case Op::gamma:       return std::tgamma(x);
        case Op::lgamma:      return std::lgamma(x);
        case Op::digamma:     return digamma(x);
        case Op::sigmoid:     return 1 / (1 + std::exp(-x));
        case Op::softplus:    return larger(x, 0) + std::log1p(std::exp(-std::abs(x)));
        case Op::relu:        return larger(x, 0);
        case Op::leaky_relu:  return x >= 0 ? x : (args.size() > 1 ? y : 0.01) * x;
        case Op::gelu:        return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
        case Op::silu:        return x / (1 + std::exp(-x));
        case Op::abs:         return std::abs(x);
        case Op::abs2:        return x * x;
        case Op::sign:        return sign(x);
        case Op::floor:       return std::floor(x);
        case Op::ceil:        return std::ceil(x);
        case Op::round:       return std::nearbyint(x);
        case Op::trunc:       return std::trunc(x);
        case Op::min:         return smaller(x, y);
        case Op::max:         return larger(x, y);
        case Op::hypot:       return std::hypot(x, y);
        case Op::fma:         return std::fma(x, y, z);
        case Op::clamp:       return smaller(larger(x, y), z);
        case Op::real:
        case Op::conj:        return x;
        case Op::imag:        return 0;
        case Op::angle:       return x < 0 ? std::numbers::pi : x - x;
        case Op::add:
        case Op::mul:
        case Op::eq:
        case Op::ne:
        case Op::lt:
        case Op::le:
        case Op::gt:
        case Op::ge:
        case Op::logical_and:
        case Op::logical_or:
        case Op::logical_not:
        case Op::select:
        case Op::isnan:
        case Op::isinf:
        case Op::isfinite:    break;
    }
    RICCI_ASSERT(false, "an operation on floating values");
    return 0;
}

// Integer arithmetic wraps: it is done without sign.
std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

bool is_less(DType type, std::int64_t x, std::int64_t y) {
    return type == DType::u64 ? bits(x) < bits(y) : x < y;
}

std::int64_t floored_quotient(DType type, std::int64_t x, std::int64_t y) {
    if (y == 0) return 0;
    if (type == DType::u64) return wrapped(bits(x) / bits(y));
    if (y == -1) return wrapped(0 - bits(x));
    return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
}

std::int64_t power(DType type, std::int64_t base, std::int64_t exponent) {
    // 1 over a number, rounded towards 0.
    if (type != DType::u64 && exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    std::uint64_t result = 1;
    std::uint64_t factor = bits(base);
    for (std::uint64_t rest = bits(exponent); rest > 0; rest >>= 1U, factor *= factor)
        if (rest % 2 == 1) result *= factor;
    return wrapped(result);
}

std::int64_t integer_value(Op op, DType type, std::span<const Scalar> args) {
    const std::int64_t x = args[0].integer;
    const std::int64_t y = args.size() > 1 ? args[1].integer : 0;
    const auto largest = [&](std::int64_t a, std::int64_t b) {
        return is_less(type, a, b) ? b : a;
    };
    const auto least = [&](std::int64_t a, std::int64_t b) { return is_less(type, b, a) ? b : a; };
    const bool is_negative = is_less(type, x, 0);
    // The operations that integers have; all others are floating.
    if (op == Op::neg) return wrapped(0 - bits(x));
    if (op == Op::floordiv) return floored_quotient(type, x, y);
    if (op == Op::mod)
        return y == 0 ? 0 : wrapped(bits(x) - bits(floored_quotient(type, x, y)) * bits(y));
    if (op == Op::pow) return power(type, x, y);
    if (op == Op::abs) return is_negative ? wrapped(0 - bits(x)) : x;
    if (op == Op::abs2) return wrapped(bits(x) * bits(x));
    if (op == Op::sign) return is_negative ? -1 : x == 0 ? 0 : 1;
    if (op == Op::relu) return is_negative ? 0 : x;
    if (op == Op::min) return least(x, y);
    if (op == Op::max) return largest(x, y);
    if (op == Op::clamp) return least(largest(x, y), args[2].integer);
    if (op == Op::fma) return wrapped(bits(x) * bits(y) + bits(args[2].integer));
    if (op == Op::imag) return 0;
    const bool is_itself = op == Op::floor || op == Op::ceil || op == Op::round ||
                           op == Op::trunc || op == Op::real || op == Op::conj;
    RICCI_ASSERT(is_itself, "an operation on integers");
    return x;
}

/// Comparisons, logic and classification.
bool truth_value(Op op, DType type, std::span<const Scalar> args) {
    const Scalar& x = args[0];
    if (op == Op::logical_not) return x.integer == 0;
    if (op == Op::isnan) return is_floating(type) && std::isnan(x.real);
    if (op == Op::isinf) return is_floating(type) && std::isinf(x.real);
    if (op == Op::isfinite) return !is_floating(type) || std::isfinite(x.real);
    const Scalar& y = args[1];
    if (op == Op::logical_and) return x.integer != 0 && y.integer != 0;
    if (op == Op::logical_or) return x.integer != 0 || y.integer != 0;
    const bool less = is_floating(type) ? x.real < y.real : is_less(type, x.integer, y.integer);
    const bool more = is_floating(type) ? x.real > y.real : is_less(type, y.integer, x.integer);
    const bool same = is_floating(type) ? x.real == y.real : x.integer == y.integer;
    if (op == Op::eq) return same;
    if (op == Op::ne) return !same;
    if (op == Op::lt) return less;
    if (op == Op::le) return less || same;
    if (op == Op::gt) return more;
    RICCI_ASSERT(op == Op::ge, "an operation with a truth value");
    return more || same;
}

/// Sums and products of any number of operands, rounded at each step.
Scalar fold(Op op, DType type, std::span<const Scalar> args) {
    Scalar result = args[0];
    for (const Scalar& next : args.subspan(1)) {
        const std::uint64_t x = bits(result.integer);
        const std::uint64_t y = bits(next.integer);
        result.real = op == Op::add ? result.real + next.real : result.real * next.real;
        result.integer = wrapped(op == Op::add ? x + y : x * y);
        result = round_to(type, result);
    }
    return result;
}

}  // namespace

Scalar round_to(DType type, Scalar value) {
    if (type == DType::f32) value.real = static_cast<float>(value.real);
    if (type == DType::f16) value.real = static_cast<double>(Float16(value.real));
    if (type == DType::bf16) value.real = static_cast<double>(BFloat16(value.real));
    if (is_integer(type) && size_bytes(type) < 8)
        value.integer = with_element(type, [&]<class T>(Element<T>) {
            return static_cast<std::int64_t>(static_cast<T>(value.integer));
        });
    return value;
}

Scalar convert_scalar(Scalar value, DType from, DType to, Narrowing narrowing) {
    Scalar result;
    if (is_floating(to)) {
        result.real = is_floating(from)    ? value.real
                      : from == DType::u64 ? static_cast<double>(bits(value.integer))
                                           : static_cast<double>(value.integer);
        return round_to(to, result);
    }
    result.integer = with_element(to, [&]<class T>(Element<T>) {
        T element{};
        if (is_floating(from))
            element = convert<T>(value.real);
        else if (narrowing == Narrowing::wraps)
            element = stored<T>(value.integer);
        else
            element =
                from == DType::u64 ? convert<T>(bits(value.integer)) : convert<T>(value.integer);
        return static_cast<std::int64_t>(element);
    });
    return result;
}

Scalar operate(Op op, DType operand_type, DType type, std::span<const Scalar> args) {
    if (op == Op::select) return args[0].integer != 0 ? args[1] : args[2];
    if (op == Op::add || op == Op::mul) return fold(op, type, args);
    Scalar result;
    if (type == DType::boolean && op != Op::min && op != Op::max && op != Op::clamp)
        result.integer = truth_value(op, operand_type, args) ? 1 : 0;
    else if (is_floating(type))
        result.real = real_value(op, args);
    else
        result.integer = integer_value(op, operand_type, args);
    return round_to(type, result);
}

// --- bounds --------------------------------------------------------------------------------------

double unit_roundoff(DType type) noexcept {
    if (type == DType::f16) return 0x1p-11;
    if (type == DType::bf16) return 0x1p-8;
    if (type == DType::f32) return 0x1p-24;
    return is_floating(type) ? 0x1p-53 : 0;
}

namespace {

double distance(DType type, const Scalar& a, const Scalar& b) {
    if (!is_floating(type))
        return a.integer == b.integer
                   ? 0
                   : std::abs(static_cast<double>(a.integer) - static_cast<double>(b.integer));
    if (a.real == b.real || (std::isnan(a.real) && std::isnan(b.real))) return 0;
    const double difference = std::abs(a.real - b.real);
    return std::isnan(difference) ? infinity : difference;
}

/// The value at one end of its interval.
Scalar moved(DType type, Scalar value, double direction) {
    if (is_floating(type))
        value.real += direction * value.bound;
    else if (type == DType::boolean)
        value.integer = 1 - value.integer;
    else
        value.integer =
            wrapped(bits(value.integer) +
                    bits(static_cast<std::int64_t>(direction * std::ceil(value.bound))));
    return value;
}

bool is_comparison(Op op) { return info(op).precedence == Precedence::comparison; }

double selected_bound(DType type, std::span<const Scalar> args) {
    const Scalar& taken = args[0].integer != 0 ? args[1] : args[2];
    if (args[0].bound == 0) return taken.bound;
    return distance(type, args[1], args[2]) + std::max(args[1].bound, args[2].bound);
}

/// A comparison is in doubt where the operands' intervals meet.
double comparison_bound(DType type, std::span<const Scalar> args) {
    const double slack = args[0].bound + args[1].bound;
    return slack > 0 && distance(type, args[0], args[1]) <= slack ? 1 : 0;
}

double carried_bound(Op op, DType operand_type, DType type, std::span<const Scalar> args,
                     const Scalar& result) {
    double total = 0;
    std::vector<Scalar> changed(args.begin(), args.end());
    for (std::size_t n = 0; n < args.size(); ++n) {
        if (args[n].bound == 0) continue;
        if (!(args[n].bound < 1e15)) return infinity;
        double worst = 0;
        for (double direction : {-1.0, 1.0}) {
            changed[n] = moved(operand_type, args[n], direction);
            worst =
                std::max(worst, distance(type, operate(op, operand_type, type, changed), result));
        }
        changed[n] = args[n];
        total += worst;
    }
    return total;
}

/// The rounding of a correct implementation.
double rounding_bound(Op op, DType type, std::span<const Scalar> args, const Scalar& result) {
    if (!is_floating(type) || !std::isfinite(result.real)) return 0;
    const double unit = unit_roundoff(type);
    const double tiny =
        type == DType::f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
    const double size = std::abs(result.real);
    const auto steps = static_cast<double>(args.size());
    if (op == Op::add) {
        double magnitudes = 0;
        for (const Scalar& x : args) magnitudes += std::abs(x.real);
        return unit * (steps - 1) * magnitudes;
    }
    if (op == Op::fma) return 2 * unit * (std::abs(args[0].real * args[1].real) + size);
    if (op == Op::mul) return unit * (steps - 1) * size + tiny;
    if (op == Op::div || op == Op::sqrt || op == Op::rsqrt || op == Op::abs2)
        return 2 * unit * size + tiny;
    if (op == Op::mod) return 2 * unit * (size + std::abs(args[1].real)) + tiny;
    // Quotients that are no longer whole to the last bit.
    if (op == Op::floordiv) return size * unit > 0.5 ? 2 * unit * size : 0;
    const bool is_exact = op == Op::neg || op == Op::abs || op == Op::min || op == Op::max ||
                          op == Op::relu || op == Op::clamp || op == Op::sign || op == Op::floor ||
                          op == Op::ceil || op == Op::round || op == Op::trunc || op == Op::real ||
                          op == Op::imag || op == Op::conj;
    if (is_exact) return 0;
    // Near their roots these have an absolute accuracy.
    const bool has_roots = op == Op::sin || op == Op::cos || op == Op::tan || op == Op::log ||
                           op == Op::log2 || op == Op::log10 || op == Op::lgamma ||
                           op == Op::digamma || op == Op::gelu || is_registered(op);
    return 16 * unit * (size + (has_roots ? 0.25 : 0)) + tiny;
}

}  // namespace

Scalar operate_with_bound(Op op, DType operand_type, DType type, std::span<const Scalar> args) {
    Scalar result = operate(op, operand_type, type, args);
    if (op == Op::select)
        result.bound = selected_bound(type, args);
    else if (is_comparison(op))
        result.bound = comparison_bound(operand_type, args);
    else
        result.bound = carried_bound(op, operand_type, type, args, result) +
                       rounding_bound(op, type, args, result);
    if (std::isnan(result.bound)) result.bound = infinity;
    return result;
}

Scalar convert_with_bound(Scalar value, DType from, DType to, Narrowing narrowing) {
    Scalar result = convert_scalar(value, from, to, narrowing);
    if (value.bound == 0) return result;
    if (!(value.bound < 1e15)) {
        result.bound = infinity;
        return result;
    }
    for (double direction : {-1.0, 1.0})
        result.bound = std::max(
            result.bound,
            distance(to, convert_scalar(moved(from, value, direction), from, to, narrowing),
                     result));
    result.bound += unit_roundoff(to) * std::abs(result.real);
    return result;
}

}  // namespace ricci::runtime
