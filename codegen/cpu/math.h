// codegen/cpu/math.h – elementary functions of f32 and f64 as straight-line code for any lanes
//
// Accuracies are the largest errors found by tests/codegen_cpu/math_test.cpp, in units in the last
// place, f32 / f64, on a target with fma.
#pragma once

#include <span>

#include "codegen/cpu/wide.h"
#include "dsl/ops.h"

namespace ricci::codegen::cpu {

Wide exp(Wide x);
Wide expm1(Wide x);
Wide log(Wide x);
Wide log1p(Wide x);
Wide log2(Wide x);
Wide log10(Wide x);
Wide cbrt(Wide x);
/// x^y with C's conventions (`0^0 = 1`).
Wide pow(Wide x, Wide y);
Wide hypot(Wide x, Wide y);
Wide sin(Wide x);
Wide cos(Wide x);
Wide tan(Wide x);
Wide asin(Wide x);
Wide acos(Wide x);
Wide atan(Wide x);
Wide atan2(Wide y, Wide x);
Wide sinh(Wide x);
Wide cosh(Wide x);
Wide tanh(Wide x);
Wide asinh(Wide x);
Wide acosh(Wide x);
Wide atanh(Wide x);
Wide erf(Wide x);
/// 1/(1 + e^-x).
Wide sigmoid(Wide x);
/// log(1 + e^x).
Wide softplus(Wide x);

/// A function that is called for each lane, by its symbol in runtime_symbols().
Wide library_call(Op op, std::span<const Wide> args);

}  // namespace ricci::codegen::cpu
