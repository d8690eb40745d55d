// tests/codegen_cpu/math_test.cpp – elementary functions against long double, on every target
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen_cpu/kernel_support.h"

namespace ricci::tests {
namespace {

using namespace codegen;
using Real = long double;

/// A function, what it should be, where it is sampled, and how far off it may be, in units in the
/// last place (what was found, and a tenth or so more).
struct Row {
    Op op;
    Real (*exact)(Real);
    double low, high;  ///< magnitudes are drawn evenly and by logarithm
    double ulps_f32, ulps_f64;
};

/// y = op(x) for whole vectors of the target.
template <class T>
std::vector<T> evaluate(Op op, const Target& target, std::vector<std::vector<T>> args) {
    const DType dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
    const auto lanes = target.vector_bytes / std::int64_t{sizeof(T)};
    for (auto& arg : args)
        arg.resize((arg.size() + std::size_t(lanes) - 1) / std::size_t(lanes) * std::size_t(lanes),
                   T{1});
    const auto n = std::int64_t(args[0].size());
    Builder b(std::string(info(op).name));
    const VarId lane = b.var("lane");
    const AffineForm at = form(b.task, lanes) + form(lane);
    std::vector<Value> loads;
    std::vector<void*> buffers;
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

/// The distance in units in the last place of a T at the exact value.
template <class T>
double ulps(T found, Real exact) {
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
    std::frexp(static_cast<T>(exact), &exponent);
    exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
    const Real unit = std::ldexp(Real{1}, exponent - std::numeric_limits<T>::digits);
    return double(std::abs(Real(found) - exact) / unit);
}

/// Special values, and numbers of both signs spread evenly and by magnitude over the range.
template <class T>
std::vector<T> samples(double low, double high) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> result = {T{0},
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
    const std::vector<double> evenly = numbers<double>(20000, 3);
    for (const double u : evenly) {
        const double position = (u + 1) / 2;
        result.push_back(static_cast<T>(low + (high - low) * position));
        const double top = std::log(std::max(std::abs(low), std::abs(high)));
        const double bottom = std::log(double(Limits::denorm_min()));
        const double magnitude = std::exp(bottom + (top - bottom) * position);
        if (magnitude <= high) result.push_back(static_cast<T>(magnitude));
        if (-magnitude >= low) result.push_back(static_cast<T>(-magnitude));
    }
    return result;
}

template <class T>
void check(const Row& row, const Target& target, double allowed) {
    std::vector<T> x = samples<T>(row.low, row.high);
    const std::vector<T> y = evaluate<T>(row.op, target, {x});
    double worst = 0;
    T where = 0;
    T found = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(y[i], row.exact(Real(x[i])));
        if (error > worst) {
            worst = error;
            where = x[i];
            found = y[i];
        }
    }
    INFO(format("{} {} {}: {:.2f} ulp at {:.17g}: {:.17g}", target.cpu, info(row.op).name,
                sizeof(T) == 4 ? "f32" : "f64", worst, double(where), double(found)));
    CHECK(worst <= allowed);
}

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x))); }
Real rsqrt(Real x) { return 1 / std::sqrt(x); }
Real silu(Real x) { return x * sigmoid(x); }
Real exact_gelu(Real x) { return x / 2 * std::erfc(-x / std::sqrt(Real{2})); }

// clang-format off
const Row rows[] = {
    {Op::exp,      std::exp,   -110,  100,  1.0, 1.0},
    {Op::expm1,    std::expm1, -50,   100,  1.8, 1.8},
    {Op::log,      std::log,   0,     1e30, 0.8, 0.8},
    {Op::log1p,    std::log1p, -1,    1e30, 1.5, 1.5},
    {Op::log2,     std::log2,  0,     1e30, 1.5, 1.5},
    {Op::log10,    std::log10, 0,     1e30, 1.5, 1.5},
    {Op::sqrt,     std::sqrt,  0,     1e30, 0.5, 0.51},  // long double's root is rounded, too
    {Op::rsqrt,    rsqrt,      0,     1e30, 1.5, 1.5},
    {Op::cbrt,     std::cbrt,  -1e30, 1e30, 1.0, 1.0},
    {Op::sin,      std::sin,   -1e7,  1e7,  1.5, 1.0},
    {Op::cos,      std::cos,   -1e7,  1e7,  1.5, 1.0},
    {Op::tan,      std::tan,   -1e7,  1e7,  2.8, 2.0},
    {Op::asin,     std::asin,  -1,    1,    2.5, 2.2},
    {Op::acos,     std::acos,  -1,    1,    1.5, 1.5},
    {Op::atan,     std::atan,  -100,  100,  1.8, 1.5},
    {Op::sinh,     std::sinh,  -95,   95,   1.5, 1.8},
    {Op::cosh,     std::cosh,  -95,   95,   1.5, 1.5},
    {Op::tanh,     std::tanh,  -12,   12,   1.8, 2.3},
    {Op::asinh,    std::asinh, -1e30, 1e30, 1.6, 1.6},
    {Op::acosh,    std::acosh, 1,     1e30, 1.6, 1.6},
    {Op::atanh,    std::atanh, -1,    1,    1.8, 2.0},
    {Op::erf,      std::erf,   -7,    7,    2.5, 1.8},
    {Op::erfc,     std::erfc,  -7,    10,   3.0, 3.0},
    {Op::sigmoid,  sigmoid,    -110,  110,  2.2, 2.2},
    {Op::softplus, softplus,   -110,  110,  2.0, 2.0},
    {Op::silu,     silu,       -80,   110,  3.2, 3.2},
};
// clang-format on

TEST_CASE("elementary functions are right to a few units in the last place") {
    for (const Target& target : runnable_targets()) {
        for (const Row& row : rows) {
            check<float>(row, target, row.ulps_f32);
            check<double>(row, target, row.ulps_f64);
        }
    }
}

TEST_CASE("gelu is right to a few units in the last place of its argument") {
    for (const Target& target : runnable_targets()) {
        const std::vector<double> u = numbers<double>(20000, 4);
        std::vector<float> x;
        for (const double each : u) x.push_back(static_cast<float>(each * 12));
        const std::vector<float> y = evaluate<float>(Op::gelu, target, {x});
        double worst = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = std::abs(double(y[i]) - double(exact_gelu(Real(x[i]))));
            worst = std::max(worst, error / (std::abs(double(x[i])) * 0x1p-24));
        }
        CHECK(worst <= 4);
    }
}

/// Pairs of samples of magnitudes that suit a power, and every pair of special values.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs(double range_x, double range_y) {
    const std::vector<T> special = samples<T>(-1, 1);
    std::vector<T> x;
    std::vector<T> y;
    for (std::size_t i = 0; i < 18; ++i) {
        for (std::size_t j = 0; j < 18; ++j) {
            x.push_back(special[i]);
            y.push_back(special[j]);
        }
    }
    const std::vector<double> u = numbers<double>(20000, 5);
    const std::vector<double> v = numbers<double>(20000, 6);
    for (std::size_t i = 0; i < u.size(); ++i) {
        x.push_back(static_cast<T>(u[i] * range_x));
        y.push_back(static_cast<T>(v[i] * range_y));
        x.push_back(static_cast<T>(std::exp(u[i] * 80)));
        y.push_back(static_cast<T>(v[i] * 8));
        x.push_back(static_cast<T>(u[i] * range_x));
        y.push_back(static_cast<T>(std::round(v[i] * range_y)));
    }
    return {x, y};
}

template <class T>
void check_pairs(Op op, Real (*exact)(Real, Real), const Target& target, double allowed) {
    const auto [x, y] = pairs<T>(30, 20);
    const std::vector<T> z = evaluate<T>(op, target, {x, y});
    double worst = 0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(z[i], exact(Real(x[i]), Real(y[i])));
        if (error > worst) {
            worst = error;
            where = i;
        }
    }
    INFO(format("{} {} {}: {:.2f} ulp at {:.17g}, {:.17g}: {:.17g}", target.cpu, info(op).name,
                sizeof(T) == 4 ? "f32" : "f64", worst, double(x[where]), double(y[where]),
                double(z[where])));
    CHECK(worst <= allowed);
}

TEST_CASE("functions of two numbers are right to a few units in the last place") {
    for (const Target& target : runnable_targets()) {
        check_pairs<float>(Op::pow, std::pow, target, 1);
        check_pairs<double>(Op::pow, std::pow, target, 1.2);
        check_pairs<float>(Op::hypot, std::hypot, target, 1.5);
        check_pairs<double>(Op::hypot, std::hypot, target, 1.5);
        check_pairs<float>(Op::atan2, std::atan2, target, 4);
        check_pairs<double>(Op::atan2, std::atan2, target, 4);
    }
}

}  // namespace
}  // namespace ricci::tests
