// tests/support/random_forms.h – functions that random programs apply, inside their domains
#pragma once

#include <array>

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

}  // namespace ricci::tests
