// codegen/lane_masks.h – which lanes of a tile are taken at which reduced points
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/target.h"
#include "codegen/contraction_choice.h"
#include "codegen/kernel.h"
#include "codegen/tile.h"

namespace ricci::codegen {

/// Whether a tile asks more of the second-level cache than of the multipliers, if it walks one tap
/// after the other through columns that are read in place: it has few rows for each line of them,
/// and the first-level cache does not hold what its taps share.
[[nodiscard]] bool is_narrow(const Kernel& kernel, const ContractionChoice& choice,
                             const Target& target);

class LaneMasks {
  public:
    /// Takes the conditions that move with the lanes from a kernel. The reduced axes that change
    /// masks become the outermost, and each mask is set inside of their loops; few masks may all be
    /// `set_before` the loops instead, which then go over reduced points in their order.
    void take_conditions(Kernel& kernel, VarId lane, bool set_before);

    [[nodiscard]] const std::vector<AffineForm>& conditions() const { return conditions_; }
    /// Reduced loops outside of the mask that is set.
    [[nodiscard]] std::size_t outer_loops() const { return outer_loops_; }

    /// Masks of lanes of that type. What is set before the loops is kept as bool, or as integers as
    /// wide as lanes, which targets without masked arithmetic take as they are.
    void make_registers(Nest& nest, const Lanes& lanes, DType dtype, const Target& target);
    [[nodiscard]] bool is_made() const { return mask_.has_value(); }
    /// Sets the mask of a reduced point, or all of them.
    [[nodiscard]] Body set(Nest& nest,
                           const std::function<Value(const AffineForm& lane)>& is_taken) const;
    /// Whether a lane is taken; empty where all are.
    [[nodiscard]] Value is_taken(const Nest& nest, const AffineForm& lane) const;
    /// Whether a reduced point is the first that has the others' masks beside it; empty where masks
    /// are set one by one.
    [[nodiscard]] Value is_first() const;

  private:
    [[nodiscard]] AffineForm place() const;

    std::vector<AffineForm> conditions_;  ///< at least 0 where a lane is taken
    std::size_t outer_loops_ = 0;
    std::vector<Axis> axes_;  ///< each of their points has a mask, where all are set before
    Lanes lanes_;
    std::optional<BufferId> mask_;
    DType kept_ = DType::boolean;  ///< or -1 where a lane is taken, else 0
};

}  // namespace ricci::codegen
