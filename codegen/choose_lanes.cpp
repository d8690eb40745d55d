// codegen/choose_lanes.cpp – which axis of a kernel runs in lanes
#include <algorithm>
#include <cmath>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/data_intervals.h"
#include "codegen/guarded_reads.h"
#include "codegen/lane_steps.h"
#include "codegen/lower.h"
#include "codegen/side_by_side.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Cycles of a gathered element, measured on Zen 5 and Sapphire Rapids: 1.3 to 1.7.
constexpr double gather_cycles = 1.5;
/// The same of lanes on pages of their own, which miss the TLB and meet in few sets of a cache:
/// traces of 1000 matrices of 64x64 take 0.17 ms in such lanes and 0.062 in lanes along the
/// diagonals (bench_cpu --threads 1 --others traces, Zen 4).
constexpr double far_gather_cycles = 2.25;
/// Of each vector that lanes by short steps span: it is read or written, and shuffled.
constexpr double shuffle_cycles = 2;
/// Of a vector in a square, beside a shuffle for each halving: a row is loaded or stored, masked.
constexpr double cycles_of_row = 5;
/// Of short sums (`short_points`) in a single vector, which wait for each other and end soon:
/// 1,000,000 products of 3x3 matrices and vectors in lanes over three results take 4.8 ms, 17
/// cycles each, of which 9 are counted otherwise (Zen 4).
constexpr double alone_cycles = 8;
/// A short row's lanes are folded while those of others are: a third of what one takes alone. So
/// are those of long rows on units that take two turns for a vector: 64x784 by 784x10 takes 10.2 us
/// in rows, 14.0 in tiles, of which six lanes idle (Zen 4).
constexpr double share_of_fold = 1.0 / 3;
constexpr double short_points = 16;
constexpr std::int64_t least_beside = 4;
/// Scattered elements cost a line each to be written and, first, to be read.
constexpr double scatter_cycles = 4;
/// The same where each lane's element is at a place that data decides in a page of its own: `ricci
/// bench --threads 1 --grad "Y[i,k] := X[i,J[k]]" X=4096x1024 "J=512:i64:randint(0,1023)"` takes 32
/// to 35 ms for dX in lanes over i, and 3 row by row (Zen 4).
constexpr double far_scatter_cycles = 40;
/// Of a vector whose lanes are masked at each point: its part in making the mask.
constexpr double mask_cycles = 1;
/// Of one row whose lanes are folded together with those of others: a store, a load, three
/// instructions; by their count. 100,000 rows of 10 take 0.16 ms in lanes over the row and 0.33 in
/// lanes over rows, which are gathered (Zen 4).
constexpr double fold_together_cycles = 6;
/// So many sums side by side hide the latency of a multiply-add.
constexpr std::int64_t least_results = 8;

class Chooser {
  public:
    Chooser(const Kernel& kernel, const Target& target)
        : kernel_(kernel),
          lanes_(codegen::lanes(kernel, target)),
          target_(target),
          has_masks_(has_masked_stores(target)),
          all_(touches(kernel)),
          free_points_(double(points(kernel.free))),
          reduced_points_(kernel.body ? double(points(kernel.reduced)) : 0) {
        if (kernel.body) loops_ = reduced_loops(kernel, kernel.reduced);
        if (kernel.body) intervals_ = data_intervals(kernel);
        for (const Touch& touch : all_) (touch.is_reduced ? loads_in_body_ : loads_in_writes_) += 1;
        body_operations_ = body_cost(kernel) - loads_in_body_;
        write_operations_ = std::max(0.0, write_cost(kernel) - loads_in_writes_);
        for (const Axis& axis : kernel.free)
            rows_.push_back(find_rows_of_lanes(kernel, axis, target));
    }

    LanePlan choose() const {
        std::vector<Axis> all = kernel_.free;
        all.insert(all.end(), kernel_.reduced.begin(), kernel_.reduced.end());
        return choose_among(all);
    }
    LanePlan choose_among(const std::vector<Axis>& axes) const {
        const auto is_one = [&](const Axis& axis) {
            return std::ranges::find(axes, axis) != axes.end();
        };
        LanePlan best;  // scalar code
        best.cycles = free_points_ * (reduced_points_ * body_cost(kernel_) + write_cost(kernel_));
        const auto consider = [&](const LanePlan& plan) {
            if (precedes(plan, best)) best = plan;
        };
        for (std::size_t i = kernel_.free.size(); i-- > 0;) {
            const Axis& axis = kernel_.free[i];
            if (!is_one(axis) || !may_be_lanes(axis)) continue;
            consider(over_free(axis, lanes_of(axis)));
            // Smaller squares may fit where larger ones leave much over.
            for (std::int64_t lanes = lanes_of(axis) / 2; lanes >= least_square; lanes /= 2)
                if (has_squares(axis, lanes)) consider(over_free(axis, lanes));
        }
        for (std::size_t i = kernel_.reduced.size(); i-- > 0;) {
            const Axis& axis = kernel_.reduced[i];
            if (is_one(axis) && axis.extent > 1) consider(over_reduced(axis));
        }
        return best;
    }

  private:
    [[nodiscard]] bool is_forced(const LanePlan& plan) const {
        switch (target_.forced) {
            case Forced::scalar:        return !plan.axis;
            case Forced::free_lanes:
            case Forced::chains_across: return plan.axis && !plan.is_reduced_axis;
            case Forced::reduced_lanes:
            case Forced::chains:        return plan.is_reduced_axis;
            case Forced::nothing:
            case Forced::tiles:
            case Forced::no_chains:
            case Forced::slices:
            case Forced::joint_sums:
            case Forced::two_levels:
            case Forced::scans:
            case Forced::rewritings:    return false;
        }
        return false;
    }
    [[nodiscard]] bool precedes(const LanePlan& a, const LanePlan& b) const {
        return is_forced(a) == is_forced(b) ? a.cycles < b.cycles : is_forced(a);
    }
    /// Whether lanes may be masked where loop bounds change from lane to lane: inequalities alone,
    /// results that are contiguous or, with masked stores of any type, short steps apart.
    [[nodiscard]] bool may_be_masked(const Axis& axis) const {
        const auto moves = [&](const AffineForm& form) { return form.coefficient(axis.var) != 0; };
        return (has_masks_ || has_masked_moves()) &&
               std::ranges::none_of(kernel_.conditions.equal_zero, moves) &&
               std::ranges::all_of(kernel_.writes, [&](const Store& write) {
                   const std::int64_t step = write.at.affine.coefficient(axis.var);
                   return step >= 1 && step <= (has_masks_ ? longest_short_step : 1);
               });
    }
    /// AVX2 loads and stores some lanes of 4 and 8 bytes, and of no others.
    [[nodiscard]] bool has_masked_moves() const {
        return target_.vector_bytes >= 32 && std::ranges::all_of(all_, [&](const Touch& touch) {
                   return size_bytes(kernel_.nest.at(touch.buffer).dtype) >= 4;
               });
    }
    /// Lanes must write different elements.
    [[nodiscard]] bool may_be_lanes(const Axis& axis) const {
        if (axis.extent < 2 || kernel_.collides(axis.var)) return false;
        if (moves_with(loops_, axis.var) && !may_be_masked(axis)) return false;
        return std::ranges::all_of(kernel_.writes, [&](const Store& write) {
            return write.at.affine.coefficient(axis.var) != 0 &&
                   (!write.at.computed || !depends_on(write.at.computed, axis.var));
        });
    }

    /// How much of a far load along the lanes is done in squares, transposed in registers
    /// (free_lanes, lower_far_rows): those points of the axis along which it is contiguous that
    /// are in squares. What a vector of these takes: a row is loaded, and interleaved with others;
    /// squares that are not full take as long.
    struct InSquares {
        double share = 0;
        double cycles = 0;
    };
    [[nodiscard]] InSquares in_squares(const Touch& load, const Axis& axis,
                                       std::int64_t lanes) const {
        if (load.is_store || load.is_computed || lanes < least_square) return {};
        const auto along = [&](const Axis& other, std::int64_t points) -> InSquares {
            if (points == 0 || load.address.coefficient(other.var) != 1) return {};
            const auto rows = double(ceil_div(points, lanes) * lanes);
            return {.share = double(points) / double(other.extent),
                    .cycles = rows / double(points) * (1 + std::log2(double(lanes)))};
        };
        if (kernel_.body) {
            const std::optional<Axis> other = axis_of_squares(kernel_, axis, lanes);
            return other && load.is_reduced ? along(*other, other->extent / lanes * lanes)
                                            : InSquares{};
        }
        for (const Axis& other : kernel_.free) {
            if (other == axis || kernel_.collides(other.var)) continue;
            const InSquares found = along(other, points_in_squares(other.extent, lanes, target_));
            if (found.share > 0) return found;
        }
        return {};
    }
    [[nodiscard]] bool has_squares(const Axis& axis, std::int64_t lanes) const {
        return std::ranges::any_of(all_, [&](const Touch& touch) {
            const std::int64_t step = touch.address.coefficient(axis.var);
            return step != 0 && step != 1 && in_squares(touch, axis, lanes).share > 0;
        });
    }

    /// Cycles of the touches of one vector, which are for all results of a tile that share them.
    [[nodiscard]] double vector_touches(const Axis& axis, std::int64_t lanes, bool reduced,
                                        const ResultTile& tile = {}) const {
        double cycles = 0;
        for (const Touch& touch : all_)
            if (touch.is_reduced == reduced)
                cycles += vector_touch(touch, axis, lanes) / double(tile.results_of(touch));
        return cycles;
    }
    [[nodiscard]] std::int64_t bytes_of(const Touch& touch) const {
        return std::int64_t(size_bytes(kernel_.nest.at(touch.buffer).dtype));
    }
    [[nodiscard]] double vector_touch(const Touch& touch, const Axis& axis,
                                      std::int64_t lanes) const {
        const std::int64_t step = touch.address.coefficient(axis.var);
        const bool is_far = touch.is_computed && depends_on(touch.computed, axis.var);
        if (step == 1 && !is_far) return 1;
        if (step == 0 && !is_far) return touch.is_store ? 1 : 0.5;
        if (step > 1 && step <= longest_short_step && !is_far && (!touch.is_store || has_masks_))
            return shuffle_cycles * double(step);
        if (const double cycles = cycles_in_rows(touch, axis, lanes); cycles > 0) return cycles;
        const bool are_pages_apart = !is_far && std::abs(step) * bytes_of(touch) >= page_bytes;
        if (touch.is_store && !is_far && are_interleaved(axis)) return 1 + shuffle_cycles;
        if (touch.is_store)
            return (are_pages_apart && touch.is_computed ? far_scatter_cycles : scatter_cycles) *
                   double(lanes);
        const InSquares squares = in_squares(touch, axis, lanes);
        const double lane = are_pages_apart ? far_gather_cycles : gather_cycles;
        return squares.share * squares.cycles + (1 - squares.share) * lane * double(lanes);
    }
    /// Whether another axis stores what lies between every other element of the lanes: the emitter
    /// stores both as whole vectors.
    [[nodiscard]] bool are_interleaved(const Axis& axis) const {
        if (kernel_.body || kernel_.writes.size() != 1) return false;
        const AffineForm& at = kernel_.writes[0].at.affine;
        const std::optional<Axis> between = axis_between_lanes(kernel_, axis);
        return between && between->extent == 2 && at.coefficient(between->var) == 1 &&
               at.coefficient(axis.var) == 2;
    }
    /// Places beside this one, itself included, that lanes along the axis touch in the same way
    /// (codegen/rows_of_lanes).
    [[nodiscard]] std::int64_t places_beside(const Touch& touch, const Axis& axis) const {
        const std::int64_t step = touch.address.coefficient(axis.var);
        return std::ranges::count_if(all_, [&](const Touch& other) {
            const AffineForm between = other.address + -1 * touch.address;
            return other.buffer == touch.buffer && other.is_store == touch.is_store &&
                   !other.is_computed && between.is_constant() &&
                   std::abs(between.constant) < std::min(step, most_columns_of_rows);
        });
    }
    /// A vector of those that are read, or written, as rows; 0 of others.
    [[nodiscard]] double cycles_in_rows(const Touch& touch, const Axis& axis,
                                        std::int64_t lanes) const {
        if (!kernel_.body && has_masks_ && !touch.is_computed && lanes >= least_square) {
            const std::int64_t columns = places_beside(touch, axis);
            if (columns > least_columns) return cycles_in_squares(columns, columns, lanes);
        }
        const auto number = std::ranges::find(kernel_.free, axis) - kernel_.free.begin();
        if (number == std::ssize(rows_) || touch.is_computed || lanes < least_square) return 0;
        const std::optional<RowsOfLanes>& rows = rows_[std::size_t(number)];
        if (!rows) return 0;
        if (touch.is_store)
            return rows->axis && touch.address.coefficient(rows->axis->var) == 1
                       ? cycles_in_squares(rows->axis->extent, rows->axis->extent, lanes)
                       : 0;
        // What the points side by side share is read once for them.
        const bool is_shared = rows->axis && touch.address.coefficient(rows->axis->var) == 0;
        return cycles_in_squares(rows->columns,
                                 rows->columns * (is_shared ? rows->axis->extent : 1), lanes);
    }
    /// What each of so many uses takes of the squares of a row's columns.
    [[nodiscard]] static double cycles_in_squares(std::int64_t columns, std::int64_t uses,
                                                  std::int64_t lanes) {
        const auto rows = double(ceil_div(columns, lanes) * lanes);
        return rows / double(uses) * (cycles_of_row + std::log2(double(lanes)));
    }
    [[nodiscard]] std::int64_t lanes_of(const Axis& axis) const {
        return std::min(lanes_, power_of_two_above(axis.extent));
    }

    /// Points that loops come to where those of intervals are known before them: their ends do not
    /// move with the lanes.
    [[nodiscard]] double reduced_points(const Axis& lanes) const {
        const bool are_far = std::ranges::any_of(all_, [&](const Touch& touch) {
            return touch.is_reduced &&
                   std::abs(touch.address.coefficient(lanes.var)) > longest_short_step;
        });
        double points = reduced_points_;
        for (const DataInterval& each : intervals_) {
            const bool is_reduced =
                std::ranges::find(kernel_.reduced, each.axis) != kernel_.reduced.end();
            if (std::ranges::find(each.moved_by, lanes.var) == each.moved_by.end() &&
                (is_reduced || each.axis != lanes))
                points *= are_far ? part_of_long_interval : part_of_interval;
        }
        return points;
    }

    /// What a mask adds to a point: beside its part in making it a blend, where sums take no mask.
    [[nodiscard]] double cycles_of_mask() const {
        return has_masks_ ? mask_cycles : 2 * mask_cycles;
    }

    [[nodiscard]] LanePlan over_free(const Axis& axis, std::int64_t lanes) const {
        const double vectors =
            free_points_ / double(axis.extent) * std::ceil(double(axis.extent) / double(lanes));
        const double body = body_operations_ + vector_touches(axis, lanes, true);
        const double write = write_operations_ + vector_touches(axis, lanes, false);
        const bool is_masked = moves_with(loops_, axis.var);
        const double point = body + (is_masked ? cycles_of_mask() : 0);
        const bool is_alone = kernel_.body && reduced_points_ <= short_points &&
                              axis.extent <= lanes && free_points_ > double(axis.extent);
        return {.axis = axis,
                .is_masked = is_masked,
                .lanes = lanes,
                .cycles = vectors *
                          (reduced_points(axis) * point + write + (is_alone ? alone_cycles : 0))};
    }

    [[nodiscard]] LanePlan over_reduced(const Axis& axis) const {
        const std::int64_t lanes = lanes_of(axis);
        const double vectors = reduced_points(axis) / double(axis.extent) *
                               std::ceil(double(axis.extent) / double(lanes));
        const ResultTile tile =
            body_operations_ > most_shared_operations
                ? ResultTile{}
                : choose_result_tile(kernel_, reduced_loops_along(kernel_, axis),
                                     target_.vector_registers * 7 / 8 / kernel_.joint_kernels);
        const double touched = vector_touches(axis, lanes, true, tile);
        const double body = is_near(tile)
                                ? body_operations_ / 2 * std::max(1.0, touched) + 0.1 * touched
                                : body_operations_ + touched;
        // Resetting and folding: a shuffle and an addition for each halving, values before places.
        const double fold =
            (kernel_.is_arg_reduction() ? 3.0 : 1.0) * (8 + 4 * std::log2(double(lanes)));
        // A vector of short rows is stored, loaded and halved with another's; writes are in lanes.
        const bool is_short = are_short_rows(kernel_, lanes, tile.results());
        const bool are_beside = tile.results() >= least_beside &&
                                (reduced_points_ <= short_points || has_half_units(target_));
        const double end = is_short ? fold_together_cycles + write_cost(kernel_) / double(lanes)
                                    : (are_beside ? share_of_fold : 1) * fold + write_cost(kernel_);
        return {.axis = axis,
                .is_reduced_axis = true,
                .lanes = lanes,
                .tile = tile,
                .cycles = free_points_ * (vectors * body + end)};
    }

    /// Whether results side by side take what their operations take, as tiles of contractions do:
    /// there are enough of them, and what they share stays in the second-level cache meanwhile.
    [[nodiscard]] bool is_near(const ResultTile& tile) const {
        if (tile.results() < least_results || !kernel_.conditions.is_empty()) return false;
        std::vector<Axis> walked = kernel_.reduced;
        for (const Axis& axis : kernel_.free)
            if (std::ranges::any_of(all_, [&](const Touch& touch) {
                    return touch.is_reduced && touch.address.coefficient(axis.var) == 0;
                }))
                walked.push_back(axis);
        double bytes = 0;
        for (const Touch& touch : all_) {
            if (!touch.is_reduced) continue;
            if (touch.is_computed) return false;
            double elements = 1;
            for (const Axis& axis : walked)
                elements +=
                    std::abs(double(touch.address.coefficient(axis.var))) * double(axis.extent - 1);
            bytes += elements * double(size_bytes(kernel_.nest.at(touch.buffer).dtype));
        }
        return 2 * bytes <= double(target_.l2_bytes);
    }

    const Kernel& kernel_;
    std::int64_t lanes_;
    const Target& target_;
    bool has_masks_;  ///< every instruction may be masked: AVX-512
    std::vector<Touch> all_;
    std::vector<std::optional<RowsOfLanes>> rows_;  ///< of lanes along each free axis
    double free_points_;
    double reduced_points_;
    ReducedLoops loops_;
    std::vector<DataInterval> intervals_;
    double loads_in_body_ = 0;
    double loads_in_writes_ = 0;
    double body_operations_ = 0;
    double write_operations_ = 0;
};

}  // namespace

LanePlan choose_lanes(const Kernel& kernel, const Target& target) {
    if (!has_masked_stores(target)) return Chooser(kernel, target).choose();
    const Kernel plain = with_plain_reads(kernel);
    return Chooser(plain, target).choose();
}

LanePlan choose_lanes_among(const std::vector<Axis>& axes, const Kernel& kernel,
                            const Target& target) {
    if (!has_masked_stores(target)) return Chooser(kernel, target).choose_among(axes);
    const Kernel plain = with_plain_reads(kernel);
    return Chooser(plain, target).choose_among(axes);
}

}  // namespace ricci::codegen
