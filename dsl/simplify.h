// dsl/simplify.h – value-preserving simplification of terms, by a table of rules
//
// Values are those of IEEE arithmetic, NaN, infinities and signed zeros included: `0*x` stays (x
// may be infinite), `x - x` stays, `-(a - b)` is not turned round. Integer terms (indices, sizes,
// integer literals) are collected into affine order. Conditions are decided where the ranges of
// their indices suffice.
#pragma once

#include "dsl/program.h"

namespace ricci {

struct SimplifyOptions {
    /// The terms are derivatives: a factor of exactly 0 stands for "does not depend", so that `0*x`
    /// and `0/x` are 0 and `x^0` is 1 whatever x is, and literals need not keep a term's type (the
    /// cotangent that multiplies it has it).
    bool is_derivative = false;
};

/// A simpler term of the same value at all points of the ranges of its indices.
[[nodiscard]] Expr simplify(const Program& program, Expr e, const SimplifyOptions& options = {});
/// Every equation simplified.
[[nodiscard]] Program simplify(Program program, const SimplifyOptions& options = {});

/// True when the comparison (or `&&` of comparisons) of integer terms is proved for all points of
/// the ranges of its indices and all sizes.
[[nodiscard]] bool is_always_true(const Program& program, Expr condition);
/// True when it is proved that the comparison holds nowhere.
[[nodiscard]] bool is_always_false(const Program& program, Expr condition);

}  // namespace ricci
