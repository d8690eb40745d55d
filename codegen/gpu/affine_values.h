// codegen/gpu/affine_values.h – conditions and places of terms as affine forms
//
// A padded read is a term such as
//   y+r-1 >= 0 && y+r-1 < 12 ? X[12*clamp(y+r-1, 0, 11)] : 0
// Where the condition holds the place is 12*(y+r-1).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen::gpu {

class AffineValues {
  public:
    /// Over the points of the axes.
    explicit AffineValues(std::vector<Axis> axes) : axes_(std::move(axes)) {}

    /// Takes the condition to hold. False, and of no use any more, when it is no conjunction of
    /// affine inequalities.
    [[nodiscard]] bool suppose(const Value& condition);
    /// The value of an i64 term where the conditions hold; nothing when it is not affine.
    [[nodiscard]] std::optional<AffineForm> form_of(const Value& value) const;

    /// Forms that are at least zero.
    [[nodiscard]] const std::vector<AffineForm>& conditions() const noexcept { return conditions_; }

  private:
    [[nodiscard]] bool is_at_least_zero(const AffineForm& form) const;

    std::vector<Axis> axes_;
    std::vector<AffineForm> conditions_;
};

}  // namespace ricci::codegen::gpu
