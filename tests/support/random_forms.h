// tests/support/random_forms.h – functions that random programs apply, inside their domains
#pragma once

#include <array>
#include <string_view>

namespace ricci::tests {

/// A function applied to `{}`, with an argument inside its domain.
inline constexpr std::array unary_forms = {"sin({})",
                                           "cos({})",
                                           "tanh({})",
                                           "sigmoid({})",
                                           "relu({})",
                                           "leaky_relu({})",
                                           "leaky_relu({}, 0.2)",
                                           "abs({})",
                                           "abs2({})",
                                           "atan({})",
                                           "asinh({})",
                                           "erf({})",
                                           "erfc({})",
                                           "softplus({})",
                                           "gelu({})",
                                           "silu({})",
                                           "exp(sin({}))",
                                           "exp(-abs2({}))",
                                           "expm1(sin({}))",
                                           "log(abs2({}) + 1)",
                                           "log1p(abs2({}))",
                                           "log2(abs2({}) + 1.5)",
                                           "log10(abs2({}) + 0.5)",
                                           "sqrt(abs2({}) + 0.5)",
                                           "rsqrt(abs2({}) + 0.5)",
                                           "cbrt(abs2({}) + 0.5)",
                                           "tan(0.4*sin({}))",
                                           "asin(0.5*sin({}))",
                                           "acos(0.5*cos({}))",
                                           "sinh(sin({}))",
                                           "cosh(sin({}))",
                                           "acosh(abs2({}) + 1.5)",
                                           "atanh(0.5*sin({}))",
                                           "gamma(sigmoid({}) + 1)",
                                           "lgamma(abs2(sin({})) + 2)",
                                           "digamma(abs2(sin({})) + 1)",
                                           "clamp({}, -0.5, 0.75)",
                                           "sign({})",
                                           "floor({})",
                                           "ceil(1.5*{})",
                                           "round(2*{})",
                                           "trunc(2*{})",
                                           "{}^2",
                                           "{}^3",
                                           "(abs2({}) + 0.5)^1.5",
                                           "-{}",
                                           "1/(abs2({}) + 1)"};
/// A function of `{0}` and `{1}`.
inline constexpr std::array binary_forms = {
    "max({0}, {1})",
    "min({0}, {1})",
    "hypot({0}, abs2({1}) + 0.5)",
    "({0} - {1})^2",
    "fma({0}, {1}, {0})",
    "atan2({0}, abs2({1}) + 1)",
    "{0}/(abs({1}) + 1)",
    "({0} > {1})*{0}",
    "select({0} < {1}, {1}, {0})",
    "({0} + {1})*{0}",
    "({0} > 0 ? {0} : {1})",
    "(abs({0}) + 0.5)^sin({1})",
    "({0} <= {1} && {0} > -1 ? {0} : 0.5*{1})",
};
/// The rest of the language, of `{0}` and `{1}`; `scaled` and `mixed` are definitions.
inline constexpr std::array language_forms = {
    "({0} // (abs({1}) + 0.5))",
    "({0} % (abs({1}) + 0.5))",
    "({0} // 2 + {1} % 3)",
    "{0} ** 2",
    "(abs({0}) + 1) ^ -1",
    "real(({0} + 1i*{1})*conj({1} - 2i*{0}))",
    "abs({0} + 1i*{1})",
    "abs2(1i*{0} - {1})",
    "imag(exp(1i*sin({0})))*{1}",
    "f64({0})",
    "f32({0})*{1}",
    "i32(3*{0})",
    "bool({0})",
    "!({0} > {1})",
    "({0} > 0 || {1} < 0)",
    "(isfinite({0}) && !isnan({1}))*{0}",
    "scaled({0})",
    "mixed({0}, {1})",
    "mixed(scaled({0}), {1})",
    "clamp({0}, -abs({1}), abs({1}))",
    "({0} < 0 ? -1 : {0} > 1 ? 1 : {1})",
    "pow(abs({0}) + 0.5, 1.5)",
    "(inf > {0} ? {1} : nan)",
};
/// What they are, in front of a program.
inline constexpr std::string_view language_definitions =
    "def scaled(x) = 0.5*x + 0.25; def mixed(x, y) = x*(1 - scaled(y)) + y\n";

}  // namespace ricci::tests
