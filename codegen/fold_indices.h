// codegen/fold_indices.h – index arithmetic that the ranges of a kernel's axes decide
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// Inclusive.
struct IndexRange {
    std::int64_t low = 0;
    std::int64_t high = 0;
    bool operator==(const IndexRange&) const = default;
};

/// An integer that is written as a form or a constant.
[[nodiscard]] std::optional<AffineForm> affine(const Value& value);

/// A comparison of forms as one that is at least zero, or is zero.
struct AffineTest {
    AffineForm form;
    bool is_equality = false;
    bool operator==(const AffineTest&) const = default;
};
[[nodiscard]] std::optional<AffineTest> affine_test(const Value& condition);

/// The values of affine forms over the points of some axes.
class AxisRanges {
  public:
    explicit AxisRanges(const Kernel& kernel);

    /// Nothing for a form of other variables, and beyond 62 bits.
    [[nodiscard]] std::optional<IndexRange> of(const AffineForm& form) const;
    /// The same without the term of one variable.
    [[nodiscard]] std::optional<IndexRange> without(const AffineForm& form, VarId var) const;
    /// What no sum (or product) of the forms and of their parts goes beyond.
    [[nodiscard]] double magnitude(const std::vector<AffineForm>& forms, bool is_product) const;

  private:
    std::unordered_map<std::uint32_t, std::int64_t> extents_;
};

/// Where the arithmetic on a form changes: it is decided, and affine, for values in [low, high].
struct Decision {
    AffineForm form;
    IndexRange core;
    bool operator==(const Decision&) const = default;
};

/// Folds what the ranges of the axes decide in the kernel's values: comparisons, choices, extremes,
/// `clamp`, `//`, `%` and magnitudes of affine forms; what becomes affine in an address joins its
/// affine part, and a comparison of the reducer's condition that does becomes a bound. Gives the
/// decisions that are left open, once each.
std::vector<Decision> fold_indices(Kernel& kernel);

/// Makes `e % N` and `e // N` of a form that lies in two turns a choice between these: divisions of
/// vectors of i64 take some ten times as long.
void choose_between_turns(Kernel& kernel);

/// The kernel's points where one free axis lies in [lower, upper), counted from there.
[[nodiscard]] Kernel slice(const Kernel& kernel, std::size_t axis, std::int64_t lower,
                           std::int64_t upper, const char* name);

/// Which cases are cut apart.
struct CaseRules {
    /// Smaller kernels are compiled once, with a test at each point.
    double least_points = 16'384;
    /// Lanes that guarded reads may mask; 1: none may.
    std::int64_t lanes = 1;
    /// Windows share the rows that they read (`codegen/side_by_side`): all of them best.
    bool share_windows = false;
};

/// Cuts free axes where index arithmetic changes, as at the edges of what is padded, clamped,
/// wrapped or mirrored: a core in which every place is affine, and the borders around it, whose
/// points decide one by one. Empty where there is nothing to gain.
[[nodiscard]] std::vector<Kernel> split_cases(const Kernel& kernel, const CaseRules& rules = {});

}  // namespace ricci::codegen
