// codegen/scan_rows.cpp – which rows of a walk are lanes
#include "codegen/scan_rows.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "codegen/lane_steps.h"
#include "codegen/nest_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Rows of a square. Two squares of 16, values and results, are more than 32 registers: sums along
/// 1000 rows of 1000 (f32) took 0.17 ms and 27 to compile, in squares of 8 0.15 and 3, of 4 0.19
/// and 2 (Zen 4).
constexpr std::int64_t most_square = 8;
/// Vectors of rows that are walked side by side, as long as so many tasks are left.
constexpr std::int64_t vectors_side_by_side = 4;
constexpr std::int64_t least_tasks = 4;
class LaneChooser {
  public:
    LaneChooser(const Kernel& kernel, const ScanWalk& walk, const Target& target)
        : kernel_(kernel),
          walk_(walk),
          most_lanes_(codegen::lanes(kernel, target)),
          all_(touches(kernel)) {}

    RowLanes choose() const {
        RowLanes beside;
        RowLanes apart;
        for (const Axis& axis : kernel_.free) {
            if (axis == walk_.results || axis.extent < 2 || !may_be_lanes(axis)) continue;
            RowLanes& best = are_beside(axis) ? beside : apart;
            if (!best.axis || axis.extent > best.axis->extent) best.axis = axis;
        }
        RowLanes best = beside.axis ? beside : apart;
        if (!best.axis) return best;
        best.lanes = std::min(most_lanes_, power_of_two_above(best.axis->extent));
        if (beside.axis) {
            const std::int64_t rows = points(kernel_.free) / walk_.results.extent;
            best.unroll = std::clamp<std::int64_t>(
                std::min(best.axis->extent / best.lanes, rows / (best.lanes * least_tasks)), 1,
                vectors_side_by_side);
        } else if (have_points_beside() && (!walk_.test || may_choose())) {
            best.lanes = std::min(best.lanes, most_square);
            best.has_squares = best.lanes >= least_square;
        }
        return best;
    }

  private:
    [[nodiscard]] bool may_be_lanes(const Axis& axis) const {
        return std::ranges::all_of(kernel_.writes, [&](const Store& write) {
            return write.at.affine.coefficient(axis.var) != 0 &&
                   (!write.at.computed || !depends_on(write.at.computed, axis.var));
        });
    }
    /// What stays along a row is read once.
    [[nodiscard]] bool are_beside(const Axis& axis) const {
        return std::ranges::all_of(all_, [&](const Touch& touch) {
            const std::int64_t step = touch.address.coefficient(axis.var);
            return stays(touch) || ((step == 1 || (step == 0 && !touch.is_store)) &&
                                    (!touch.is_computed || !depends_on(touch.computed, axis.var)));
        });
    }
    [[nodiscard]] bool stays(const Touch& touch) const {
        const Axis& along = touch.is_reduced ? walk_.points : walk_.results;
        return touch.address.coefficient(along.var) == 0 &&
               (!touch.is_computed || !depends_on(touch.computed, along.var));
    }
    /// Whether points that do not count may be read, and stand in a square as what changes nothing.
    [[nodiscard]] bool may_choose() const {
        return !kernel_.is_arg_reduction() && is_inside_everywhere(kernel_, kernel_.body) &&
               is_inside_everywhere(kernel_, walk_.test);
    }
    /// Whether what is far from row to row moves by one from point to point.
    [[nodiscard]] bool have_points_beside() const {
        return std::ranges::any_of(all_, [&](const Touch& touch) {
            const Axis& along = touch.is_reduced ? walk_.points : walk_.results;
            return !touch.is_computed && touch.address.coefficient(along.var) == 1;
        });
    }

    const Kernel& kernel_;
    const ScanWalk& walk_;
    std::int64_t most_lanes_;
    std::vector<Touch> all_;
};

class StayingValues {
  public:
    explicit StayingValues(const Axis& rows) : rows_(rows) {}

    void add(const Value& root, const Axis& along) {
        along_ = along.var;
        moves_.clear();
        visited_.clear();
        take(root);
    }
    [[nodiscard]] std::vector<Value> found() && { return std::move(found_); }

  private:
    /// Whether a node or a part of it moves along the axis or is a Let, and with the rows.
    struct Moves {
        bool along = false;
        bool with_rows = false;
    };
    Moves moves(const Value& value) {
        if (const auto known = moves_.find(value.get()); known != moves_.end())
            return known->second;
        Moves result;
        const auto consider = [&](const AffineForm& form) {
            result.along |= form.coefficient(along_) != 0;
            result.with_rows |= form.coefficient(rows_.var) != 0;
        };
        if (const auto* load = std::get_if<Load>(&value->term)) consider(load->at.affine);
        if (const auto* index = std::get_if<VarValue>(&value->term)) consider(index->form);
        result.along |= std::holds_alternative<LetValue>(value->term);
        for (const Value& operand : operands(value)) {
            const Moves of_operand = moves(operand);
            result.along |= of_operand.along;
            result.with_rows |= of_operand.with_rows;
        }
        moves_.emplace(value.get(), result);
        return result;
    }
    void take(const Value& value) {
        const Moves of_value = moves(value);
        if (!of_value.with_rows || !visited_.insert(value.get()).second) return;
        if (of_value.along) {
            for (const Value& operand : operands(value)) take(operand);
            return;
        }
        const auto* load = std::get_if<Load>(&value->term);
        const bool is_beside =
            load != nullptr && !load->at.computed && load->at.affine.coefficient(rows_.var) == 1;
        const bool is_index = std::holds_alternative<VarValue>(value->term);
        if (!is_beside && !is_index && std::ranges::find(found_, value) == found_.end())
            found_.push_back(value);
    }

    const Axis& rows_;
    VarId along_{};
    std::unordered_map<const ValueNode*, Moves> moves_;
    std::unordered_set<const ValueNode*> visited_;
    std::vector<Value> found_;
};

}  // namespace

RowLanes choose_row_lanes(const Kernel& kernel, const ScanWalk& walk, const Target& target) {
    return LaneChooser(kernel, walk, target).choose();
}

std::vector<Value> staying_values(const std::vector<Along>& values, const Axis& rows) {
    StayingValues staying(rows);
    for (const auto& [value, axis] : values) staying.add(value, axis);
    return std::move(staying).found();
}

}  // namespace ricci::codegen
