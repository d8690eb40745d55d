// codegen/nan_makers.h – operands that are looked through for what could make a NaN
//
// A maximum that propagates NaN takes two instructions, of numbers alone one. A product with the 0
// that stands for a lane that is not taken may be added like any other, without a mask, unless it
// is that of an infinity or NaN. Where the operands of a contraction are read far more often than
// they are long, a look through them first pays: tiles then take the short way, or the careful one
// when something was found. Both give the same numbers.
#pragma once

#include "codegen/contraction.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// How many elements of the operands may make a NaN, in the type of the kernel's body. Adds the
/// steps that count them; their results become arguments of the kernel. Empty where the kernel
/// takes no maximum or minimum of floats, where its body may be NaN of any operands, or where it
/// does not pay.
[[nodiscard]] Value count_nan_makers(Kernel& kernel, const Contraction& contraction,
                                     PlanBuilder& builder);

/// The same of the rows' operand of a sum of products of two factors, whose columns are 0 in lanes
/// that are not taken. Empty for other bodies, where looking does not pay, and on targets whose
/// masked additions cost no more than others.
[[nodiscard]] Value count_mask_needers(Kernel& kernel, const Contraction& contraction,
                                       PlanBuilder& builder);

/// How many elements of a term are infinite or NaN, likewise. Empty where looking does not pay,
/// where the term is of another type than an f32 or f64 body, or not read in bounds at all points.
[[nodiscard]] Value count_not_finite(Kernel& kernel, const Value& term, PlanBuilder& builder);

/// The larger (`max`) or smaller of two numbers, the second where both are equal.
[[nodiscard]] Value quick_extremum(Reducer reducer, const Value& value, const Value& old);

/// Whether sums next to comparisons gain by being multiply-adds: Zen 3 to 5 add and compare in the
/// same units (a tropical product of 784x1024 takes Zen 3 35 ms with additions, 23 so), Haswell in
/// one of two. Zen 2 multiplies and compares in the same ones; Skylake does all three there.
[[nodiscard]] bool adds_where_it_compares(const Target& target);

/// A sum `a + b` as `a * one + b`. `one` is a 1 that a compiler does not see.
[[nodiscard]] Value as_multiply_add(const Value& sum, const Value& one);

}  // namespace ricci::codegen
