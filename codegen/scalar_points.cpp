// codegen/scalar_points.cpp – points and rows one after the other, as of updates that may meet
#include "codegen/scalar_points.h"

#include <utility>

#include "codegen/staged_terms.h"
#include "codegen/tile.h"
#include "codegen/update_runs.h"

namespace ricci::codegen {

namespace {

/// Points that scalar code writes in a turn of its loop: a loop of ten instructions took 0.40 or
/// 0.56 ns a turn, by where in a line of instructions it began; of eight points 0.36 each.
constexpr std::int64_t points_of_turn = 8;
constexpr std::int64_t least_unrolled_extent = 64;
/// Of what is left of a point when its dear terms are staged.
constexpr double most_unrolled_cycles = 12;

/// Whole turns from `start` on, then what is left, one by one.
Body in_turns(const Axis& axis, VarId start, Body turn, const std::function<Body()>& rest) {
    const std::int64_t full = axis.extent / points_of_turn * points_of_turn;
    Body body;
    body.push_back(
        make_loop(start, Bind::serial, bound(0), bound(full), std::move(turn), points_of_turn));
    if (full < axis.extent)
        body.push_back(make_loop(axis.var, Bind::serial, bound(full), bound(axis.extent), rest()));
    return body;
}

}  // namespace

Body scalar_points(Kernel& kernel, TaskSplit& split, bool all_exist,
                   const std::function<Body(std::optional<VarId> axis, AffineForm place)>& write) {
    const bool is_long = !split.loops.empty() && split.loops.back().lower[0].form == form(0) &&
                         split.loops.back().axis.extent >= least_unrolled_extent;
    if (!is_long) return write(std::nullopt, form(0));
    const Axis axis = split.loops.back().axis;
    const bool may_stage = all_exist && is_whole(split.loops.back());
    const bool may_run = may_stage && may_have_runs(kernel, axis, std::nullopt);
    const Nest unstaged = kernel.nest;
    const std::vector<Store> plain = kernel.writes;
    const VarId start = kernel.nest.add(Var{kernel.nest.at(axis.var).name + "0"});
    Body turn;
    if (may_stage)
        turn = stage_terms(kernel, axis.var, start, points_of_turn,
                           {.values = true, .all_places = may_run});
    if (write_cost(kernel) > most_unrolled_cycles) {
        kernel.writes = plain;
        kernel.nest = unstaged;
        return write(std::nullopt, form(0));
    }
    const auto point = [&] { return write(axis.var, form(axis.var)); };
    append(turn, may_run ? combine_runs(kernel, axis.var, start, points_of_turn, point)
                         : over_lanes(kernel.nest, {1, points_of_turn, {}},
                                      [&](const AffineForm& offset) {
                                          return write(axis.var, form(start) + offset);
                                      }));
    kernel.writes = plain;
    split.loops.pop_back();
    return in_turns(axis, start, std::move(turn), point);
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
    Body body = in_turns(axis, start, std::move(turn), write);
    split.loops.pop_back();
    return body;
}

}  // namespace ricci::codegen
