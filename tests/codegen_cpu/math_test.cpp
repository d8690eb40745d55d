// tests/codegen_cpu/math_test.cpp – elementary functions against long double, on every target
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen_cpu/kernel_support.h"

namespace ricci::tests {
namespace {

using namespace codegen;
using Real = long double;

/// What the error is measured in: units in the last place of the exact value, or of 1 where that is
/// larger (around roots that no number is near).
enum class Unit : std::uint8_t { value, one };
enum class Domain : std::uint8_t { all, positive };

/// A function, what it should be, where most of its samples lie, and how far off it may be, in
/// units in the last place (what was found on any target, rounded up).
struct Row {
    Op op;
    Real (*exact)(Real);
    double spread;  ///< samples are drawn evenly from [-spread, spread] besides all magnitudes
    double ulps_f32, ulps_f64;
    Unit unit = Unit::value;
    Domain domain = Domain::all;
};

/// y = op(x) for whole vectors, each of so many of the target's registers, or op(base, x).
template <class T>
std::vector<T> evaluate_in(std::int64_t registers, Op op, const Target& target,
                           std::vector<std::vector<T>> args, std::optional<double> base = {}) {
    const DType dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
    const auto lanes = registers * target.vector_bytes / std::int64_t{sizeof(T)};
    for (auto& arg : args)
        arg.resize((arg.size() + std::size_t(lanes) - 1) / std::size_t(lanes) * std::size_t(lanes),
                   T{1});
    const auto n = std::int64_t(args[0].size());
    Builder b(std::string(info(op).name));
    const VarId lane = b.var("lane");
    const AffineForm at = form(b.task, lanes) + form(lane);
    std::vector<Value> loads;
    std::vector<void*> buffers;
    if (base) loads.push_back(make_number(dtype, *base));
    for (auto& arg : args) {
        loads.push_back(b.load(b.argument(format("x{}", loads.size()), dtype, n), at));
        buffers.push_back(arg.data());
    }
    const BufferId y = b.argument("y", dtype, n, true);
    std::vector<T> result(args[0].size());
    buffers.push_back(result.data());
    const Nest nest =
        b.finish(n / lanes, {make_loop(lane, Bind::vector, lanes,
                                       {make_store(y, {at}, make_operation(op, loads, dtype))})});
    run(nest, target, n / lanes, buffers);
    return result;
}

/// The same, found equal in vectors of one register and of four.
template <class T>
std::vector<T> evaluate(Op op, const Target& target, const std::vector<std::vector<T>>& args,
                        std::optional<double> base = {}) {
    const std::vector<T> one = evaluate_in(1, op, target, args, base);
    if (target.vector_bytes != 32) return one;
    const std::vector<T> four = evaluate_in(4, op, target, args, base);
    const auto is_same = [](T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    CHECK(std::equal(one.begin(), one.end(), four.begin(), is_same));
    return one;
}

/// The distance in units in the last place of a T at the exact value.
template <class T>
double ulps(T found, Real exact, Unit measure = Unit::value) {
    const T rounded = static_cast<T>(exact);
    if (std::isnan(exact) || std::isnan(found))
        return std::isnan(exact) && std::isnan(found) ? 0 : 1e30;
    if (found == rounded)
        return std::signbit(found) == std::signbit(rounded) || found != 0 ? 0 : 1e30;
    if (std::isinf(found) || std::isinf(rounded)) {
        // One past the largest number counts as one unit.
        const Real limit = std::numeric_limits<T>::max();
        return std::abs(exact) > limit * 0.999999L && !std::isnan(found) ? 1 : 1e30;
    }
    int exponent = 0;
    const T size = static_cast<T>(exact);
    std::frexp(measure == Unit::one ? std::max(std::abs(size), T{1}) : size, &exponent);
    exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
    const Real unit = std::ldexp(Real{1}, exponent - std::numeric_limits<T>::digits);
    return double(std::abs(Real(found) - exact) / unit);
}

template <class T>
std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    return {T{0},
            -T{0},
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN(),
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::min(),
            -Limits::min(),
            Limits::min() / 4,
            T{1},
            T{-1},
            T(0.5),
            T(-0.5),
            T{2},
            T{10},
            Limits::max(),
            Limits::lowest()};
}

/// Special values, numbers of both signs of every magnitude that there is, and numbers spread
/// evenly.
template <class T>
std::vector<T> samples(double spread, Domain domain) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> result = special_values<T>();
    const bool is_full = std::getenv("RICCI_TEST_FULL") != nullptr;
    const std::vector<double> random = numbers<double>(is_full ? 600'000 : 40'000, 3);
    const int lowest = Limits::min_exponent - Limits::digits;
    const int magnitudes = Limits::max_exponent - lowest;
    for (std::size_t i = 0; i < random.size(); ++i) {
        const double u = (random[i] + 1) / 2;
        result.push_back(static_cast<T>(spread * random[i]));
        // Where functions that tend to something change.
        result.push_back(static_cast<T>(12 * random[i] * random[i] * (i % 2 == 0 ? 1 : -1)));
        const int exponent = lowest + static_cast<int>(i % std::size_t(magnitudes)) + 1;
        const T magnitude = std::ldexp(static_cast<T>(1 + u) / 2, exponent);
        result.push_back(magnitude);
        result.push_back(-magnitude);
    }
    if (domain == Domain::positive)
        for (T& each : result) each = std::abs(each);
    return result;
}

/// The largest error of a function on any target, and where it is.
template <class T>
void check(const Row& row, const std::vector<T>& x, double allowed) {
    std::vector<Real> exact;
    for (const T each : x) exact.push_back(row.exact(Real(each)));
    double largest = 0;
    for (const Target& target : runnable_targets()) {
        const std::vector<T> y = evaluate<T>(row.op, target, {x});
        double worst = 0;
        std::size_t where = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = ulps(y[i], exact[i], row.unit);
            if (error > worst) {
                worst = error;
                where = i;
            }
        }
        INFO(format("{} {} {}: {:.2f} ulp at {:.17g}: {:.17g} instead of {:.17g}", target.cpu,
                    info(row.op).name, sizeof(T) == 4 ? "f32" : "f64", worst, double(x[where]),
                    double(y[where]), double(exact[where])));
        CHECK(worst <= allowed);
        largest = std::max(largest, worst);
    }
    MESSAGE(format("{} {} {:.2f}", info(row.op).name, sizeof(T) == 4 ? "f32" : "f64", largest));
}

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x))); }
Real rsqrt(Real x) { return 1 / std::sqrt(x); }
Real silu(Real x) { return x * sigmoid(x); }
/// x/2 erfc(-x/sqrt 2), with what the rounded argument is off by put back: erfc goes like e^(-z^2).
Real gelu(Real x) {
    const Real z = x / std::sqrt(Real{2});
    const Real square = x * x;
    const Real lost = std::fma(x, x, -square);
    const Real off = std::isfinite(square) ? std::fma(z, z, -square / 2) - lost / 2 : 0;
    const Real tail = std::erfc(-z);
    return x / 2 * (x < 0 && tail > 0 && std::isfinite(off) ? tail * (1 + off) : tail);
}

/// Recurrence up to 40, then the asymptotic series; reflected below 0.
Real digamma(Real x) {
    if (x == 0) return std::copysign(HUGE_VALL, -x);
    if (x < 0) {
        if (x == std::floor(x)) return std::numeric_limits<Real>::quiet_NaN();
        const Real pi = std::acos(Real{-1});
        return digamma(1 - x) - pi / std::tan(pi * (x - std::round(x)));
    }
    Real result = 0;
    for (; x < 40; x += 1) result -= 1 / x;
    const Real s = 1 / (x * x);
    const Real series =
        s * (1 / Real{12} -
             s * (1 / Real{120} - s * (1 / Real{252} - s * (1 / Real{240} - s * (1 / Real{132})))));
    return result + std::log(x) - 1 / (2 * x) - series;
}

Real log_gamma(Real x) {
    int sign = 0;
    return ::lgammal_r(x, &sign);
}

// clang-format off
const Row rows[] = {
    {Op::exp,      std::exp,   110,  1.1, 1.1},
    {Op::expm1,    std::expm1, 50,   1.8, 2.2},
    {Op::log,      std::log,   4,    0.9, 0.9},
    {Op::log1p,    std::log1p, 4,    1.5, 1.5},
    {Op::log2,     std::log2,  4,    1.8, 1.8},
    {Op::log10,    std::log10, 4,    2.0, 1.8},
    {Op::sqrt,     std::sqrt,  4,    0.5, 0.51},  // long double's root is rounded, too
    {Op::rsqrt,    rsqrt,      4,    1.5, 1.5},
    {Op::cbrt,     std::cbrt,  8,    1.0, 1.0},
    {Op::sin,      std::sin,   1e5,  1.6, 1.0},
    {Op::cos,      std::cos,   1e5,  1.5, 1.0},
    {Op::tan,      std::tan,   1e5,  3.0, 2.3},
    {Op::asin,     std::asin,  1,    2.5, 2.2},
    {Op::acos,     std::acos,  1,    1.5, 1.5},
    {Op::atan,     std::atan,  100,  1.9, 1.9},
    {Op::sinh,     std::sinh,  95,   1.8, 1.8},
    {Op::cosh,     std::cosh,  95,   1.5, 1.5},
    {Op::tanh,     std::tanh,  12,   2.6, 2.6},
    {Op::asinh,    std::asinh, 8,    2.0, 2.0},
    {Op::acosh,    std::acosh, 8,    2.5, 2.5},
    {Op::atanh,    std::atanh, 1,    2.0, 2.0},
    {Op::erf,      std::erf,   7,    2.5, 1.8},
    {Op::erfc,     std::erfc,  28,   3.0, 4.0},
    {Op::gamma,    std::tgamma, 180, 1.0, 11.0},
    {Op::lgamma,   log_gamma,  12,   1.0, 7.0, Unit::value, Domain::positive},
    {Op::lgamma,   log_gamma,  200,  1.0, 5.0, Unit::one},
    {Op::digamma,  digamma,    12,   1.0, 24.0, Unit::one},
    {Op::sigmoid,  sigmoid,    110,  2.5, 2.5},
    {Op::softplus, softplus,   110,  2.0, 2.0},
    {Op::silu,     silu,       110,  5.0, 5.0},
    {Op::gelu,     gelu,       40,   6.0, 6.0},
};
// clang-format on

TEST_CASE("elementary functions are right to a few units in the last place, everywhere") {
    for (const Row& row : rows) {
        check<float>(row, samples<float>(row.spread, row.domain), row.ulps_f32);
        check<double>(row, samples<double>(row.spread, row.domain), row.ulps_f64);
    }
}

TEST_CASE("gelu holds its figure between -1 and 0, where roundings of a quotient would add up") {
    constexpr int count = 1'000'000;
    std::vector<float> narrow;
    std::vector<double> wide;
    for (int i = 0; i < count; ++i) {
        const double x = -std::exp2(-8.0 * i / count);
        narrow.push_back(static_cast<float>(x));
        wide.push_back(x);
    }
    const Row row{Op::gelu, gelu, 1, 5.0, 5.0};
    check<float>(row, narrow, row.ulps_f32);
    check<double>(row, wide, row.ulps_f64);
}

/// Pairs of special values, of magnitudes that suit a power, and of all magnitudes.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> x;
    std::vector<T> y;
    for (const T a : special_values<T>()) {
        for (const T b : special_values<T>()) {
            x.push_back(a);
            y.push_back(b);
        }
    }
    const std::vector<double> u = numbers<double>(20000, 5);
    const std::vector<double> v = numbers<double>(20000, 6);
    const auto of_magnitude = [](double each) {
        const double exponent = each * Limits::max_exponent;
        const T size = std::ldexp(static_cast<T>(1.5 + each / 2), static_cast<int>(exponent));
        return std::fmod(std::abs(each) * 1e6, 2.0) < 1 ? size : -size;
    };
    for (std::size_t i = 0; i < u.size(); ++i) {
        x.push_back(static_cast<T>(u[i] * 30));
        y.push_back(static_cast<T>(v[i] * 20));
        x.push_back(static_cast<T>(u[i] * 30));
        y.push_back(static_cast<T>(std::round(v[i] * 20)));
        x.push_back(of_magnitude(u[i]));
        y.push_back(of_magnitude(v[i]));
        // Powers up to the largest number, of every base.
        const T base = std::abs(of_magnitude(u[i]));
        x.push_back(base);
        y.push_back(static_cast<T>(v[i] * Limits::max_exponent / std::log2(double(base))));
    }
    return {x, y};
}

template <class T>
void check_pairs(Op op, Real (*exact)(Real, Real), double allowed) {
    const auto [x, y] = pairs<T>();
    std::vector<Real> expected;
    for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(exact(Real(x[i]), Real(y[i])));
    double largest = 0;
    for (const Target& target : runnable_targets()) {
        const std::vector<T> z = evaluate<T>(op, target, {x, y});
        double worst = 0;
        std::size_t where = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = ulps(z[i], expected[i]);
            if (error > worst) {
                worst = error;
                where = i;
            }
        }
        INFO(format("{} {} {}: {:.2f} ulp at {:.17g}, {:.17g}: {:.17g}", target.cpu, info(op).name,
                    sizeof(T) == 4 ? "f32" : "f64", worst, double(x[where]), double(y[where]),
                    double(z[where])));
        CHECK(worst <= allowed);
        largest = std::max(largest, worst);
    }
    MESSAGE(format("{} {} {:.2f}", info(op).name, sizeof(T) == 4 ? "f32" : "f64", largest));
}

TEST_CASE("functions of two numbers are right to a few units in the last place, everywhere") {
    check_pairs<float>(Op::pow, std::pow, 1);
    check_pairs<double>(Op::pow, std::pow, 1.2);
    check_pairs<float>(Op::hypot, std::hypot, 1.5);
    check_pairs<double>(Op::hypot, std::hypot, 1.5);
    check_pairs<float>(Op::atan2, std::atan2, 2.0);
    check_pairs<double>(Op::atan2, std::atan2, 2.0);
}

/// The largest error of powers of a constant, and that of whole powers.
template <class T>
std::pair<double, double> errors_of_powers(double base, const Target& target) {
    std::vector<T> y = special_values<T>();
    const double most = std::numeric_limits<T>::max_exponent / std::abs(std::log2(base));
    for (const double each : numbers<double>(5000, 3)) {
        y.push_back(static_cast<T>(each * 1.2 * most));
        y.push_back(static_cast<T>(std::round(each * 1.2 * most)));
        y.push_back(static_cast<T>(each));
    }
    const std::vector<T> found = evaluate<T>(Op::pow, target, {y}, base);
    std::pair<double, double> largest;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double error = ulps(found[i], std::pow(Real(static_cast<T>(base)), Real(y[i])));
        largest.first = std::max(largest.first, error);
        if (std::trunc(y[i]) == y[i]) largest.second = std::max(largest.second, error);
    }
    return largest;
}

TEST_CASE("powers of constants are right, whole ones of powers of 2 exact") {
    for (const Target& target : runnable_targets())
        for (const double base : {2.0, 4.0, 16.0, 0.5, 0.25, 0.0625, 8.0, 10.0, 2.718, 0.9, 1e-3}) {
            CAPTURE(target.cpu);
            CAPTURE(base);
            const double exponent = std::log2(base);
            const bool is_power = std::trunc(exponent) == exponent && base != 8.0;
            const auto [f32, whole_f32] = errors_of_powers<float>(base, target);
            const auto [f64, whole_f64] = errors_of_powers<double>(base, target);
            CHECK(f32 <= 1.1);
            CHECK(f64 <= 1.2);
            if (is_power) CHECK(std::max(whole_f32, whole_f64) == 0);
        }
}

}  // namespace
}  // namespace ricci::tests
