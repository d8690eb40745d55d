// codegen/cpu/runtime_symbols.cpp – the functions that compiled kernels may call
#include "codegen/cpu/runtime_symbols.h"

#include <cmath>
#include <cstring>
#include <limits>

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
    for (; x < 10; x += 1) result -= 1 / x;
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

template <class Function>
const void* address(Function* function) {
    return reinterpret_cast<const void*>(function);  // NOLINT: what a linker does
}

using Unary32 = float(float);
using Unary64 = double(double);
using Binary32 = float(float, float);
using Binary64 = double(double, double);

// clang-format off
const RuntimeSymbol symbols[] = {
    {"ricci_erfc_f32",    address<Unary32>(std::erfc)},
    {"ricci_erfc_f64",    address<Unary64>(std::erfc)},
    {"ricci_gamma_f32",   address<Unary32>(std::tgamma)},
    {"ricci_gamma_f64",   address<Unary64>(std::tgamma)},
    {"ricci_lgamma_f32",  address<Unary32>(log_gamma_f32)},
    {"ricci_lgamma_f64",  address<Unary64>(log_gamma)},
    {"ricci_digamma_f32", address<Unary32>(digamma_f32)},
    {"ricci_digamma_f64", address<Unary64>(digamma)},
    {"ricci_exp_f32", address<Unary32>(std::exp)},
    {"ricci_exp_f64", address<Unary64>(std::exp)},
    {"ricci_expm1_f32", address<Unary32>(std::expm1)},
    {"ricci_expm1_f64", address<Unary64>(std::expm1)},
    {"ricci_log_f32", address<Unary32>(std::log)},
    {"ricci_log_f64", address<Unary64>(std::log)},
    {"ricci_log1p_f32", address<Unary32>(std::log1p)},
    {"ricci_log1p_f64", address<Unary64>(std::log1p)},
    {"ricci_log2_f32", address<Unary32>(std::log2)},
    {"ricci_log2_f64", address<Unary64>(std::log2)},
    {"ricci_log10_f32", address<Unary32>(std::log10)},
    {"ricci_log10_f64", address<Unary64>(std::log10)},
    {"ricci_cbrt_f32", address<Unary32>(std::cbrt)},
    {"ricci_cbrt_f64", address<Unary64>(std::cbrt)},
    {"ricci_sin_f32", address<Unary32>(std::sin)},
    {"ricci_sin_f64", address<Unary64>(std::sin)},
    {"ricci_cos_f32", address<Unary32>(std::cos)},
    {"ricci_cos_f64", address<Unary64>(std::cos)},
    {"ricci_tan_f32", address<Unary32>(std::tan)},
    {"ricci_tan_f64", address<Unary64>(std::tan)},
    {"ricci_asin_f32", address<Unary32>(std::asin)},
    {"ricci_asin_f64", address<Unary64>(std::asin)},
    {"ricci_acos_f32", address<Unary32>(std::acos)},
    {"ricci_acos_f64", address<Unary64>(std::acos)},
    {"ricci_atan_f32", address<Unary32>(std::atan)},
    {"ricci_atan_f64", address<Unary64>(std::atan)},
    {"ricci_sinh_f32", address<Unary32>(std::sinh)},
    {"ricci_sinh_f64", address<Unary64>(std::sinh)},
    {"ricci_cosh_f32", address<Unary32>(std::cosh)},
    {"ricci_cosh_f64", address<Unary64>(std::cosh)},
    {"ricci_tanh_f32", address<Unary32>(std::tanh)},
    {"ricci_tanh_f64", address<Unary64>(std::tanh)},
    {"ricci_asinh_f32", address<Unary32>(std::asinh)},
    {"ricci_asinh_f64", address<Unary64>(std::asinh)},
    {"ricci_acosh_f32", address<Unary32>(std::acosh)},
    {"ricci_acosh_f64", address<Unary64>(std::acosh)},
    {"ricci_atanh_f32", address<Unary32>(std::atanh)},
    {"ricci_atanh_f64", address<Unary64>(std::atanh)},
    {"ricci_erf_f32", address<Unary32>(std::erf)},
    {"ricci_erf_f64", address<Unary64>(std::erf)},
    {"ricci_pow_f32", address<Binary32>(std::pow)},
    {"ricci_pow_f64", address<Binary64>(std::pow)},
    {"ricci_hypot_f32", address<Binary32>(std::hypot)},
    {"ricci_hypot_f64", address<Binary64>(std::hypot)},
    {"ricci_atan2_f32", address<Binary32>(std::atan2)},
    {"ricci_atan2_f64", address<Binary64>(std::atan2)},
    // What LLVM calls of its own accord: frem, and rounding where the target has no instruction.
    {"fmodf",      address<Binary32>(std::fmod)},
    {"fmod",       address<Binary64>(std::fmod)},
    {"floorf",     address<Unary32>(std::floor)},
    {"floor",      address<Unary64>(std::floor)},
    {"ceilf",      address<Unary32>(std::ceil)},
    {"ceil",       address<Unary64>(std::ceil)},
    {"truncf",     address<Unary32>(std::trunc)},
    {"trunc",      address<Unary64>(std::trunc)},
    {"roundevenf", address<Unary32>(::roundevenf)},
    {"roundeven",  address<Unary64>(::roundeven)},
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

}  // namespace ricci::codegen::cpu
