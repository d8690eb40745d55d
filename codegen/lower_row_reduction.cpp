// codegen/lower_row_reduction.cpp – lanes over a reduced axis, folded at the end of each row
#include <algorithm>
#include <functional>

#include "base/integer.h"
#include "codegen/busy_units.h"
#include "codegen/data_intervals.h"
#include "codegen/guarded_reads.h"
#include "codegen/interleave_vectors.h"
#include "codegen/interval_blocks.h"
#include "codegen/kernel_work.h"
#include "codegen/lane_steps.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"
#include "codegen/row_loops.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

/// Vectors of accumulators that hide the latency of an addition.
constexpr std::int64_t vectors_of_tile = 12;
/// Guarded reads in a row that is unrolled.
constexpr std::int64_t most_unrolled_reads = 64;

/// Intervals that are data may be short: they have one where others go around them, or where what
/// is gathered takes longer than an addition.
std::int64_t most_vectors(const Kernel& kernel, const LanePlan& lanes) {
    const std::int64_t most =
        std::clamp<std::int64_t>(vectors_of_tile / lanes.tile.results(), 1, 4);
    if (data_intervals(kernel).empty()) return most;
    const std::vector<Touch> all = touches(kernel);
    const bool is_dear = std::ranges::any_of(
        all, [](const Touch& touch) { return touch.is_reduced && touch.is_computed; });
    return is_dear || kernel.reduced.size() > 1 ? 1 : most;
}

class RowReduction {
  public:
    RowReduction(Kernel& kernel, const LanePlan& lanes, const Target& target, Schedule& schedule)
        : kernel_(kernel),
          schedule_(schedule),
          lanes_(lanes.lanes),
          unroll_(vectors_side_by_side(
              lanes.axis->extent, lanes.lanes, most_vectors(kernel, lanes),
              interleaved_vectors({{kernel.body}}, *lanes.axis, lanes.lanes, target))),
          cycles_(lanes.cycles),
          accumulator_(
              make_accumulator(kernel, lanes_ * unroll_ * lanes.tile.results(), &*lanes.axis)),
          total_(make_accumulator(kernel, 1, &*lanes.axis)) {
        kernel.nest.multiplies_in_sums = codegen::multiplies_in_sums(kernel, target);
        take_where(kernel);
        reduced_ = reduced_loops_along(kernel, *lanes.axis);
        std::vector<Axis> side_by_side;
        for (const TileAxis& each : lanes.tile.axes) side_by_side.push_back(each.axis);
        take_interval(kernel, reduced_, side_by_side);
        for (const TileAxis& each : lanes.tile.axes) {
            Axis& axis = *std::ranges::find(kernel.free, each.axis);
            axis = {kernel.nest.add(Var{name(axis) + "_tile"}), axis.extent / each.points};
            tile_.push_back({each.axis.var, axis.var, each.points});
        }
        if (!tile_.empty() && !reduced_.test && has_masked_stores(target))
            find_lines(lanes.axis->var);
        const std::int64_t reads =
            ceil_div(lanes.axis->extent, lanes_) * std::max<std::int64_t>(1, lanes.tile.results());
        are_masks_constant_ = reads <= most_unrolled_reads && has_masked_stores(target) &&
                              has_masks(kernel.body, lanes.axis->var);
    }

    void run() {
        const TaskSplit split = split_free_axes(kernel_, std::nullopt, 1, cycles_);
        describe(split);
        const bool is_interval = !reduced_.loops.back().names.empty();
        // Places are folded at the end of a row alone.
        const std::int64_t unroll = is_interval && kernel_.is_arg_reduction() ? 1 : unroll_;
        const std::int64_t at_ends = is_interval ? 1 : unroll_;
        Body body = reset_vectors(0, at_ends);
        append(body, over_row(
                         kernel_.nest, reduced_.loops, lanes_, unroll,
                         [&](const Axis& axis, const Lanes& lanes, const AffineForm& start) {
                             return vectors_at(axis, lanes, start);
                         },
                         are_masks_constant_ ? Bind::unroll : Bind::serial,
                         [&](Body full) {
                             Body around = reset_vectors(1, unroll_);
                             append(around, std::move(full));
                             append(around,
                                    over_results([&](Substitution&, const AffineForm& first) {
                                        return halve(kernel_, accumulator_, lanes_, unroll_, first);
                                    }));
                             return around;
                         }));
        append(body, over_results([&](Substitution& here, const AffineForm& first) {
                   Body result = fold(kernel_, accumulator_, total_, lanes_, at_ends, first);
                   here.replace_let(0, codegen::result(kernel_, total_, form(0)));
                   append(result, write_all(kernel_, here));
                   return result;
               }));
        body = guarded(kernel_.where, std::move(body));
        kernel_.nest.body =
            parallel(split, wrap_in_blocks(kernel_, split.loops, std::nullopt, std::move(body)));
    }

  private:
    void describe(const TaskSplit& split) {
        const std::string& axis = name(reduced_.loops.back().axis);
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        schedule_.directives.push_back(
            {"vector", axis, {lanes_}, "the reduced axis is the contiguous one"});
        schedule_.directives.push_back(
            {"unroll", axis, {unroll_}, "vectors that accumulate side by side"});
        for (const Tiled& each : tile_)
            schedule_.directives.push_back({"unroll",
                                            kernel_.nest.at(each.var).name,
                                            {each.points},
                                            "results that share loads"});
    }

    /// The accumulators of some of the vectors side by side, of all results.
    Body reset_vectors(std::int64_t begin, std::int64_t end) {
        return over_results([&](Substitution&, const AffineForm& first) {
            return over_lanes(
                kernel_.nest, {lanes_, end - begin, {}}, [&](const AffineForm& offset) {
                    return reset(kernel_, accumulator_, first + form(begin * lanes_) + offset);
                });
        });
    }

    Body vectors_at(const Axis& axis, const Lanes& lanes, const AffineForm& start) {
        const bool are_zero_beyond = !lines_.empty() && !lanes.limit.empty();
        const Lanes summed{lanes.lanes, lanes.unroll, are_zero_beyond ? LoopBound{} : lanes.limit};
        return over_results([&](const Substitution& tile, const AffineForm& first) {
            const auto at = [&](const AffineForm& offset) {
                Substitution here = tile;
                here.replace(axis.var, start + offset);
                return here;
            };
            Body body;
            if (are_zero_beyond) body = load_lines(lanes, at);
            append(body, over_lanes(kernel_.nest, summed, [&](const AffineForm& offset) {
                       Substitution here = at(offset);
                       if (are_zero_beyond)
                           for (const auto& [load, line] : lines_)
                               here.replace(load, make_load(kernel_.nest, line, {offset}));
                       const Value test = reduced_.test ? here(reduced_.test) : nullptr;
                       return guarded(test, update(kernel_, accumulator_, first + offset, here));
                   }));
            return body;
        });
    }
    /// Sums of products of loads that move with the lanes are of all lanes, with 0 beyond the row:
    /// accumulators are not taken apart.
    void find_lines(const VarId lane) {
        if (kernel_.reducer != Reducer::sum || !is_product_of_moving(kernel_.body, lane)) return;
        for_each_node({kernel_.body}, [&](const Value& value) {
            if (std::holds_alternative<Load>(value->term))
                lines_.emplace_back(value,
                                    add_registers(kernel_.nest, "line", value->dtype, lanes_));
        });
    }
    static bool is_product_of_moving(const Value& value, VarId lane) {
        if (std::holds_alternative<Load>(value->term)) return depends_on(value, lane);
        return is_operation(value, Op::mul) &&
               std::ranges::all_of(operands(value), [&](const Value& factor) {
                   return is_product_of_moving(factor, lane);
               });
    }
    Body load_lines(const Lanes& lanes,
                    const std::function<Substitution(const AffineForm& offset)>& at) {
        Body body;
        for (const auto& [load, line] : lines_) {
            append(body, over_lanes(kernel_.nest, {lanes_, 1, {}}, [&](const AffineForm& offset) {
                       Body none;
                       none.push_back(make_store(line, {offset}, make_number(load->dtype, 0)));
                       return none;
                   }));
            append(body, over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                       Body read;
                       read.push_back(make_store(line, {offset}, at(offset)(load)));
                       return read;
                   }));
        }
        return body;
    }

    /// Code for each result of the tile: `first` is the first element of its accumulators.
    Body over_results(
        const std::function<Body(Substitution& here, const AffineForm& first)>& make) {
        Substitution here;
        AffineForm first;
        std::int64_t step = lanes_ * unroll_;
        std::vector<std::pair<VarId, std::int64_t>> loops;
        for (const Tiled& each : tile_) {
            const VarId point = kernel_.nest.add(Var{kernel_.nest.at(each.var).name});
            here.replace(each.var, form(each.block, each.points) + form(point));
            first = first + form(point, step);
            step *= each.points;
            loops.emplace_back(point, each.points);
        }
        Body body = make(here, first);
        for (const auto& [point, points] : loops) {
            Body copies;
            copies.push_back(make_loop(point, Bind::unroll, points, std::move(body)));
            body = std::move(copies);
        }
        return body;
    }
    [[nodiscard]] std::string name(const Axis& axis) const {
        return kernel_.nest.at(axis.var).name;
    }

    /// An axis whose points fall into blocks of so many, which are summed side by side.
    struct Tiled {
        VarId var{};
        VarId block{};
        std::int64_t points = 1;
    };

    Kernel& kernel_;
    Schedule& schedule_;
    std::int64_t lanes_;
    std::int64_t unroll_;
    double cycles_;
    Accumulator accumulator_;
    Accumulator total_;
    ReducedLoops reduced_;
    bool are_masks_constant_ = false;  ///< of guarded reads, in rows that are unrolled
    std::vector<Tiled> tile_;
    std::vector<std::pair<Value, BufferId>> lines_;  ///< loads, each with registers for its lanes
};

}  // namespace

void lower_row_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::row_reduction, kernel.nest.name, work_of(kernel)};
    RowReduction(kernel, lanes, builder.target(), schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
