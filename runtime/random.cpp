// runtime/random.cpp – SplitMix64 words, the normal quantile, and the arrays filled with them
//
// Compiled without contraction to fma (see CMakeLists.txt), so that every operation rounds alike
// everywhere.
#include "runtime/random.h"

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "runtime/array.h"
#include "runtime/element.h"

namespace ricci {
namespace runtime {
namespace {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) noexcept {
    double sum = 0;
    for (const double c : coefficients) sum = sum * x + c;  // highest power first
    return sum;
}

/// The natural logarithm from basic operations: 2 atanh(s) = ln((1+s)/(1-s)), |s| <= 0.172.
double natural_log(double x) noexcept {
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double s = (m - 1) / (m + 1);
    double sum = 0;
    for (int n = 23; n >= 1; n -= 2) sum = sum * (s * s) + 1.0 / n;
    return 2 * s * sum + exponent * std::numbers::ln2;
}

// clang-format off
constexpr std::array centre_numerator = {
    2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
    4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
    1.3314166789178437745e+2, 3.3871328727963666080e+0};
constexpr std::array centre_denominator = {
    5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
    2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
    4.2313330701600911252e+1, 1.0};
constexpr std::array near_tail_numerator = {
    7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
    1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
    4.63033784615654529590e+0, 1.42343711074968357734e+0};
constexpr std::array near_tail_denominator = {
    1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
    1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
    2.05319162663775882187e+0, 1.0};
constexpr std::array far_tail_numerator = {
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
    2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
    5.46378491116411436990e+0, 6.65790464350110377720e+0};
constexpr std::array far_tail_denominator = {
    2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
    7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
    5.99832206555887937690e-1, 1.0};
// clang-format on

}  // namespace

RandomStream::RandomStream(std::uint64_t seed) noexcept : start_(mix(seed + golden_gamma)) {}

std::uint64_t RandomStream::word(std::uint64_t counter) const noexcept {
    return mix(start_ + (counter + 1) * golden_gamma);
}

double RandomStream::uniform(std::uint64_t counter) const noexcept {
    return static_cast<double>(word(counter) >> 11) * 0x1p-53;
}

double RandomStream::normal(std::uint64_t counter) const noexcept {
    // The middle of each of 2^52 equal parts: exact, never 0, never 1.
    return normal_quantile((static_cast<double>(word(counter) >> 12) + 0.5) * 0x1p-52);
}

std::uint64_t RandomStream::below(std::uint64_t counter, std::uint64_t count) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(word(counter)) * count) >> 64);
}

double normal_quantile(double probability) noexcept {
    const double q = probability - 0.5;
    if (std::abs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(centre_numerator, r) / polynomial(centre_denominator, r);
    }
    const double tail = q < 0 ? probability : 1 - probability;
    double r = std::sqrt(-natural_log(tail));
    double value = 0;
    if (r <= 5) {
        r -= 1.6;
        value = polynomial(near_tail_numerator, r) / polynomial(near_tail_denominator, r);
    } else {
        r -= 5;
        value = polynomial(far_tail_numerator, r) / polynomial(far_tail_denominator, r);
    }
    return q < 0 ? -value : value;
}

}  // namespace runtime

namespace {

/// A floating array whose element i is `make(i)`.
template <class Make>
Array fill_floating(DType dtype, Shape shape, Make&& make) {
    if (!is_floating(dtype)) {
        throw Error({.kind = ErrorKind::type,
                     .message = format("random values of type {} are not floating", name(dtype)),
                     .hint = "use f32 or f64, or randint"});
    }
    Array array(dtype, std::move(shape));
    runtime::with_element(dtype, [&]<class T>(runtime::Element<T>) {
        std::uint64_t counter = 0;
        for (T& element : array.span<T>()) element = static_cast<T>(make(counter++, T{}));
    });
    return array;
}

/// A complex array: its parts, one after the other, are the numbers of a real one twice as long.
template <class Make>
Array random_parts(Make&& make, DType dtype, const Shape& shape, std::uint64_t seed) {
    const Array parts = make(component(dtype), Shape{element_count(shape), 2}, seed);
    Array array(dtype, shape);
    const auto bytes = static_cast<std::size_t>(array.size()) * size_bytes(dtype);
    if (bytes > 0) std::memcpy(array.data(), parts.data(), bytes);
    return array;
}

}  // namespace

Array Array::randn(DType dtype, Shape shape, std::uint64_t seed) {
    if (is_complex(dtype)) return random_parts(randn, dtype, shape, seed);
    const runtime::RandomStream stream(seed);
    return fill_floating(dtype, std::move(shape),
                         [&](std::uint64_t i, auto) { return stream.normal(i); });
}

Array Array::rand(DType dtype, Shape shape, std::uint64_t seed) {
    if (is_complex(dtype)) return random_parts(rand, dtype, shape, seed);
    const runtime::RandomStream stream(seed);
    return fill_floating(dtype, std::move(shape), [&](std::uint64_t i, auto kind) {
        // As many of the upper bits as the type holds: rounding all 53 could give 1.
        using Kind = decltype(kind);
        if constexpr (std::is_same_v<Kind, double>) return stream.uniform(i);
        constexpr unsigned bits = std::is_same_v<Kind, float>     ? 24
                                  : std::is_same_v<Kind, Float16> ? 11
                                                                  : 8;
        return std::ldexp(static_cast<double>(stream.word(i) >> (64 - bits)), -int{bits});
    });
}

Array Array::randint(DType dtype, Shape shape, std::int64_t low, std::int64_t high,
                     std::uint64_t seed) {
    if (low >= high) {
        throw Error({.kind = ErrorKind::range,
                     .message = format("random integers from an empty range {}:{}", low, high)});
    }
    const runtime::RandomStream stream(seed);
    // Unsigned arithmetic: the range may be wider than i64 holds.
    const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    Array array(dtype, std::move(shape));
    runtime::with_element(dtype, [&]<class T>(runtime::Element<T>) {
        std::uint64_t counter = 0;
        for (T& element : array.span<T>()) {
            const std::uint64_t value =
                static_cast<std::uint64_t>(low) + stream.below(counter++, count);
            element = runtime::convert<T>(static_cast<std::int64_t>(value));
        }
    });
    return array;
}

}  // namespace ricci
