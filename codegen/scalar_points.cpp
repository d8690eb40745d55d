// codegen/scalar_points.cpp – points and rows one after the other, as of updates that may meet
#include "codegen/scalar_points.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/block_conditions.h"
#include "codegen/compacted_points.h"
#include "codegen/data_intervals.h"
#include "codegen/staged_terms.h"
#include "codegen/tile.h"
#include "codegen/update_runs.h"

namespace ricci::codegen {

namespace {

/// Points that scalar code writes in a turn of its loop: a loop of ten instructions took 0.40 or
/// 0.56 ns a turn, by where in a line of instructions it began; of eight points 0.36 each.
constexpr std::int64_t points_of_turn = 8;
constexpr std::int64_t least_unrolled_extent = 64;
/// Points whose condition lanes find together.
constexpr std::int64_t points_of_block = 128;
/// Of what is left of a point when its dear terms are staged.
constexpr double most_unrolled_cycles = 12;

Stmt points_between(VarId var, const AffineForm& lower, const AffineForm& upper, Body body,
                    std::int64_t step = 1) {
    return make_loop(var, Bind::serial, bound(lower), bound(upper), std::move(body), step);
}

/// Whole turns from `start` on, then what is left, one by one.
Body in_turns(const Axis& axis, VarId start, std::int64_t step, Body turn,
              const std::function<Body()>& rest) {
    const std::int64_t full = axis.extent / step * step;
    Body body;
    if (full > 0) body.push_back(points_between(start, form(0), form(full), std::move(turn), step));
    if (full < axis.extent)
        body.push_back(points_between(axis.var, form(full), form(axis.extent), rest()));
    return body;
}

class ScalarPoints {
  public:
    ScalarPoints(Kernel& kernel, TaskSplit& split, const Alternatives& alternatives,
                 const PlaceOfPoint& at)
        : kernel_(kernel), split_(split), alternatives_(alternatives), at_(at) {}

    Body run() {
        const bool is_long = !split_.loops.empty() &&
                             split_.loops.back().lower[0].form == form(0) &&
                             split_.loops.back().axis.extent >= least_unrolled_extent;
        if (!is_long) return point(std::nullopt, form(0));
        const bool is_whole_axis = is_whole(split_.loops.back());
        axis_ = split_.loops.back().axis;
        // Its parts are asked wherever others fail: what they read has to be inside.
        const bool in_blocks = alternatives_.condition && is_whole_axis && !is_of_interval() &&
                               axis_.extent >= points_of_block &&
                               is_inside_everywhere(kernel_, alternatives_.condition);
        const bool all_exist = !alternatives_.condition || in_blocks;
        const Nest unstaged = kernel_.nest;
        const std::vector<Store> plain = kernel_.writes;
        const VarId start = kernel_.nest.add(Var{name() + "0"});
        Body turn = turn_from(start, all_exist, is_whole_axis);
        const bool is_dear = write_cost(kernel_) > most_unrolled_cycles;
        kernel_.writes = plain;
        if (is_dear) {
            kernel_.nest = unstaged;
            return point(std::nullopt, form(0));
        }
        split_.loops.pop_back();
        const auto rest = [&] { return point(axis_.var, form(axis_.var)); };
        if (!in_blocks) return in_turns(axis_, start, points_of_turn, std::move(turn), rest);
        const VarId block = kernel_.nest.add(Var{name() + "_block"});
        return in_turns(axis_, block, points_of_block, block_from(block, start, std::move(turn)),
                        rest);
    }

  private:
    /// Whether loops come to few points of the axis (the pass `bounds`).
    [[nodiscard]] bool is_of_interval() const {
        return std::ranges::any_of(data_intervals(kernel_.free, alternatives_.condition),
                                   [&](const DataInterval& each) { return each.axis == axis_; });
    }
    [[nodiscard]] std::string name() const { return kernel_.nest.at(axis_.var).name; }

    /// What a point writes that is known to exist; any point.
    Body existing_point(std::optional<VarId> axis, const AffineForm& place) {
        Substitution here = at_(axis, place);
        return write_all(kernel_, here);
    }
    Body point(std::optional<VarId> axis, const AffineForm& place) {
        const auto& [condition, otherwise] = alternatives_;
        if (!condition) return existing_point(axis, place);
        Substitution here = at_(axis, place);
        Value holds = here(condition);
        if (otherwise.empty()) return guarded(holds, existing_point(axis, place));
        Body body;
        body.push_back(make_let(kernel_.next_let, holds));
        holds = make_let_value(kernel_.next_let++, DType::boolean);
        append(body, guarded(holds, existing_point(axis, place)));
        Body stores;
        for (const Store& write : otherwise)
            stores.push_back(
                make_store(write.buffer, here(write.at), here(write.value), write.combine));
        append(body, guarded(make_operation(Op::logical_not, {holds}, DType::boolean),
                             std::move(stores)));
        return body;
    }

    [[nodiscard]] Value condition_at(const AffineForm& place) const {
        return at_(axis_.var, place)(alternatives_.condition);
    }

    /// A turn's points, which all exist or are asked; the kernel's writes are of what is staged.
    Body turn_from(VarId start, bool all_exist, bool may_stage) {
        Body turn;
        const bool may_run = may_stage && all_exist && may_have_runs(kernel_, axis_, std::nullopt);
        if (may_stage && all_exist)
            turn = stage_terms(kernel_, axis_.var, start, points_of_turn,
                               {.values = true, .all_places = may_run});
        const auto write = [&](const AffineForm& place) {
            return all_exist ? existing_point(axis_.var, place) : point(axis_.var, place);
        };
        append(turn, may_run ? combine_runs(kernel_, axis_.var, start, points_of_turn,
                                            [&] { return write(form(axis_.var)); })
                             : over_lanes(kernel_.nest, {1, points_of_turn, {}},
                                          [&](const AffineForm& offset) {
                                              return write(form(start) + offset);
                                          }));
        return turn;
    }

    /// A block's turns where all of its points exist, else those of its points that do.
    Body block_from(VarId block, VarId start, Body turn) {
        Body body;
        const Value all =
            holds_in_block(kernel_, body, block, points_of_block,
                           [&](const AffineForm& place) { return condition_at(place); });
        const AffineForm end = form(block) + form(points_of_block);
        Body turns;
        turns.push_back(points_between(start, form(block), end, std::move(turn), points_of_turn));
        append(body, guarded(all, std::move(turns)));
        append(body, guarded(make_operation(Op::logical_not, {all}, DType::boolean),
                             some_points(block, end)));
        return body;
    }
    Body some_points(VarId block, const AffineForm& end) {
        if (!alternatives_.otherwise.empty())
            return {points_between(axis_.var, form(block), end, point(axis_.var, form(axis_.var)))};
        const std::vector<Store> plain = kernel_.writes;
        Body staged;
        if (std::ranges::all_of(written_values(kernel_), [&](const Value& value) {
                return is_inside_everywhere(kernel_, value);
            }))
            staged = stage_terms(kernel_, axis_.var, block, points_of_block, {.values = true});
        Body body = compacted_points(
            kernel_, block, points_of_block,
            [&](const AffineForm& place) { return condition_at(place); }, std::move(staged),
            [&](const AffineForm& place) { return existing_point(axis_.var, place); });
        kernel_.writes = plain;
        return body;
    }

    Kernel& kernel_;
    TaskSplit& split_;
    const Alternatives& alternatives_;
    const PlaceOfPoint& at_;
    Axis axis_;  ///< of the innermost loop
};

}  // namespace

Body scalar_points(Kernel& kernel, TaskSplit& split, const Alternatives& alternatives,
                   const PlaceOfPoint& at) {
    return ScalarPoints(kernel, split, alternatives, at).run();
}

Body rows_in_turns(Kernel& kernel, TaskSplit& split, const Axis& lane,
                   const std::function<Body()>& write) {
    if (split.loops.empty() || !is_whole(split.loops.back())) return write();
    const Axis axis = split.loops.back().axis;
    if (!may_have_runs(kernel, axis, lane)) return write();
    const VarId start = kernel.nest.add(Var{kernel.nest.at(axis.var).name + "0"});
    const std::vector<Store> plain = kernel.writes;
    Body turn = stage_terms(kernel, axis.var, start, points_of_turn, {.all_places = true});
    append(turn, combine_runs(kernel, axis.var, start, points_of_turn, write));
    kernel.writes = plain;
    Body body = in_turns(axis, start, points_of_turn, std::move(turn), write);
    split.loops.pop_back();
    return body;
}

}  // namespace ricci::codegen
