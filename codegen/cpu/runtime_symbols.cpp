// codegen/cpu/runtime_symbols.cpp – the functions that compiled kernels may call
#include "codegen/cpu/runtime_symbols.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/text.h"

namespace ricci::codegen::cpu {

namespace {

/// The derivative of lgamma: recurrence up to 10, then the asymptotic series; reflected below 0.
/// Source: Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18.
double digamma(double x) {
    if (std::isnan(x) || x == -HUGE_VAL) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0) return std::copysign(HUGE_VAL, -x);
    double result = 0;
    if (x < 0) {
        if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
        const double fraction = x - std::round(x);  // tan has period 1 in units of pi
        result = -M_PI / std::tan(M_PI * fraction);
        x = 1 - x;
    }
    while (x < 10) {
        result -= 1 / x;
        x += 1;
    }
    const double t = 1 / (x * x);
    const double series =
        t *
        (1.0 / 12 -
         t * (1.0 / 120 -
              t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760 - t / 12))))));
    return result + std::log(x) - 0.5 / x - series;
}

/// Without glibc's side effect on `signgam`, which tasks on several threads would race for.
double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}
float log_gamma_f32(float x) { return static_cast<float>(log_gamma(x)); }
float digamma_f32(float x) { return static_cast<float>(digamma(x)); }

// What LLVM calls where the target has no instructions for f16, which stands in the low bits of a
// vector register: those of the float here.
float narrow_f16(float x) { return std::bit_cast<float>(std::uint32_t{Float16(x).bits()}); }
float widen_f16(float bits) {
    const auto low = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(bits));
    return float{Float16::from_bits(low)};
}

/// Replaces numbers by the function's values.
template <class T, T (*function)(T)>
void for_each(T* numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = function(numbers[i]);
}

template <class Function>
const void* address(Function* function) {
    return reinterpret_cast<const void*>(function);  // NOLINT: what a linker does
}
template <float (*function)(float)>
const void* lanes_f32() {
    return address(for_each<float, function>);
}
template <double (*function)(double)>
const void* lanes_f64() {
    return address(for_each<double, function>);
}

using Unary32 = float(float);
using Unary64 = double(double);

// clang-format off
const RuntimeSymbol symbols[] = {
    {"ricci_sin_f32",     lanes_f32<std::sin>()},
    {"ricci_sin_f64",     lanes_f64<std::sin>()},
    {"ricci_cos_f32",     lanes_f32<std::cos>()},
    {"ricci_cos_f64",     lanes_f64<std::cos>()},
    {"ricci_tan_f32",     lanes_f32<std::tan>()},
    {"ricci_tan_f64",     lanes_f64<std::tan>()},
    {"ricci_lgamma_f32",  lanes_f32<log_gamma_f32>()},
    {"ricci_lgamma_f64",  lanes_f64<log_gamma>()},
    {"ricci_digamma_f32", lanes_f32<digamma_f32>()},
    {"ricci_digamma_f64", lanes_f64<digamma>()},
    // What LLVM calls of its own accord: frem, and what the target has no instruction for.
    {"fmodf",      address<float(float, float)>(std::fmod)},
    {"fmod",       address<double(double, double)>(std::fmod)},
    {"fmaf",       address<float(float, float, float)>(std::fma)},
    {"fma",        address<double(double, double, double)>(std::fma)},
    {"floorf",     address<Unary32>(std::floor)},
    {"floor",      address<Unary64>(std::floor)},
    {"ceilf",      address<Unary32>(std::ceil)},
    {"ceil",       address<Unary64>(std::ceil)},
    {"truncf",     address<Unary32>(std::trunc)},
    {"trunc",      address<Unary64>(std::trunc)},
    {"roundevenf", address<Unary32>(::roundevenf)},
    {"roundeven",  address<Unary64>(::roundeven)},
    {"__truncsfhf2",  address(narrow_f16)},
    {"__extendhfsf2", address(widen_f16)},
    {"memcpy",     address(std::memcpy)},
    {"memmove",    address(std::memmove)},
    {"memset",     address(std::memset)},
};
// clang-format on

}  // namespace

std::span<const RuntimeSymbol> runtime_symbols() { return symbols; }

std::string library_symbol(Op op, bool is_double) {
    return format("ricci_{}_{}", info(op).name, is_double ? "f64" : "f32");
}

std::string registered_symbol(const ScalarFunction& function) {
    return format("ricci_function_{}", function.name);
}

}  // namespace ricci::codegen::cpu
