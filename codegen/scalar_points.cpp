// codegen/scalar_points.cpp – points that no lanes take
#include "codegen/scalar_points.h"

#include "codegen/tile.h"
#include "codegen/update_runs.h"

namespace ricci::codegen {

namespace {

/// Points that scalar code writes in a turn of its loop: a loop of ten instructions took 0.40 or
/// 0.56 ns a turn, by where in a line of instructions it began; of eight points 0.36 each.
constexpr std::int64_t points_of_turn = 8;
constexpr std::int64_t least_unrolled_extent = 64;
constexpr double most_unrolled_cycles = 12;

}  // namespace

Body scalar_points(Kernel& kernel, TaskSplit& split, bool all_exist,
                   const std::function<Body(std::optional<VarId> axis, AffineForm place)>& write) {
    const bool is_long = !split.loops.empty() && split.loops.back().lower[0].form == form(0) &&
                         split.loops.back().axis.extent >= least_unrolled_extent;
    if (!is_long || write_cost(kernel) > most_unrolled_cycles) return write(std::nullopt, form(0));
    const Axis axis = split.loops.back().axis;
    const bool may_run =
        all_exist && is_whole(split.loops.back()) && may_have_runs(kernel, axis, std::nullopt);
    split.loops.pop_back();
    if (may_run) return loop_of_runs(kernel, axis, [&] { return write(axis.var, form(axis.var)); });
    const VarId start = kernel.nest.add(Var{kernel.nest.at(axis.var).name + "0"});
    const std::int64_t full = axis.extent / points_of_turn * points_of_turn;
    Body body;
    body.push_back(make_loop(
        start, Bind::serial, bound(0), bound(full),
        over_lanes(kernel.nest, {1, points_of_turn, {}},
                   [&](const AffineForm& offset) { return write(axis.var, form(start) + offset); }),
        points_of_turn));
    if (full < axis.extent)
        body.push_back(make_loop(axis.var, Bind::serial, bound(full), bound(axis.extent),
                                 write(axis.var, form(axis.var))));
    return body;
}

}  // namespace ricci::codegen
