// codegen/cpu/math.h – elementary functions of f32 and f64 as straight-line code for any lanes
//
// The figures are the largest errors found, in units in the last place, f32 / f64, on all targets,
// among samples of the whole domain, denormal numbers, infinities and NaN included
// (tests/codegen_cpu/math_test.cpp holds them to it).
#pragma once

#include <span>

#include "codegen/cpu/wide.h"
#include "dsl/scalar_function.h"

namespace ricci::codegen::cpu {

Wide exp(Wide x);    ///< 1.0 / 1.1
Wide expm1(Wide x);  ///< 1.5 / 2.1
Wide log(Wide x);    ///< 0.9 / 0.9
Wide log1p(Wide x);  ///< 1.5 / 1.5
Wide log2(Wide x);   ///< 1.8 / 1.7
Wide log10(Wide x);  ///< 2.0 / 1.8
Wide cbrt(Wide x);   ///< 1.0 / 1.0
/// x^y with C's conventions (`0^0 = 1`): 0.5 / 1.1; of a constant x whose binary logarithm is
/// 1, 2, 4 or 8 or minus that, 1.0 / 1.1, and exact for whole y.
Wide pow(Wide x, Wide y);
Wide hypot(Wide x, Wide y);  ///< 0.5 / 1.1
Wide sin(Wide x);            ///< 1.6 / 0.8 (beyond 2^20: the library's)
Wide cos(Wide x);            ///< 1.5 / 0.8
Wide tan(Wide x);            ///< 2.9 / 2.2
Wide asin(Wide x);           ///< 2.4 / 2.2
Wide acos(Wide x);           ///< 1.2 / 1.2
Wide atan(Wide x);           ///< 1.9 / 1.9
Wide atan2(Wide y, Wide x);  ///< 1.7 / 1.7
Wide sinh(Wide x);           ///< 1.6 / 1.7
Wide cosh(Wide x);           ///< 1.5 / 1.5
Wide tanh(Wide x);           ///< 2.4 / 2.6
Wide asinh(Wide x);          ///< 1.9 / 2.0
Wide acosh(Wide x);          ///< 2.4 / 2.4
Wide atanh(Wide x);          ///< 1.9 / 2.0
Wide erf(Wide x);            ///< 2.4 / 1.7
Wide erfc(Wide x);           ///< 2.7 / 3.8
Wide gelu(Wide x);           ///< 4.9 / 4.9
Wide gamma(Wide x);          ///< 0.5 / 10.6
/// Logarithm of the magnitude of gamma; below 0 the library's. 0.5 / 6.4; below 0 the same of the
/// larger of the value and 1.
Wide lgamma(Wide x);
/// The derivative of lgamma; below 0 the library's. 0.5 / 23, of the larger of the value and 1.
Wide digamma(Wide x);
/// 1/(1 + e^-x): 2.4 / 2.5.
Wide sigmoid(Wide x);
/// x/(1 + e^-x): 4.6 / 4.7.
Wide silu(Wide x);
/// log(1 + e^x): 2.0 / 1.9.
Wide softplus(Wide x);

/// The function of every lane by a call of its symbol in runtime_symbols().
Wide library_call(Op op, Wide x);
/// A function that a user registered, lane by lane, of f32 or f64.
Wide registered_call(const ScalarFunction& function, std::span<const Wide> args);

}  // namespace ricci::codegen::cpu
