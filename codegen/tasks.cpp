// codegen/tasks.cpp – cutting the outer axes of a kernel into tasks
#include "codegen/tasks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <set>

#include "base/integer.h"
#include "codegen/data_intervals.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"

namespace ricci::codegen {

namespace {

// Threads that are awake share a kernel within half a microsecond; one that sleeps comes after
// twenty and costs its caller ten.
constexpr double single_task_cycles = 15'000;
constexpr double waking_cycles = 60'000;
constexpr double most_tasks = 4096;
/// Updates of rows at random take 5 % longer in two pieces of 512 bytes, 12 in four of 256 (Xeon,
/// 65,536 rows of 1 KiB of a table of 51 MB, `script/bench cpu --threads 1 "its gradient"`).
constexpr std::int64_t least_piece_bytes = 512;
/// Tasks that each go through all points of intervals, and look for those that have elements of
/// theirs.
constexpr std::int64_t most_tasks_of_intervals = 8;

/// Granules for a task: at most so many, and such that two and four threads wait for each other as
/// little as they can.
std::int64_t balanced(std::int64_t most, std::int64_t granules, std::int64_t outer) {
    // Of more tasks, or of longer ones, the last one matters little, or the granules are fine.
    constexpr std::int64_t most_balanced = 64;
    const std::int64_t tasks = outer * ceil_div(granules, most);
    if (most > most_balanced || tasks == 1 || tasks > most_balanced) return most;
    // Threads times how long they take, for two of them and for four.
    const auto time_of_threads = [&](std::int64_t chunk) {
        const std::int64_t count = outer * ceil_div(granules, chunk);
        return chunk * (2 * ceil_div(count, 2) + 4 * ceil_div(count, 4));
    };
    std::int64_t best = most;
    for (std::int64_t chunk = most - 1; 2 * chunk >= most; --chunk)
        if (time_of_threads(chunk) < time_of_threads(best)) best = chunk;
    return best;
}

}  // namespace

std::int64_t tasks_for(double cycles) {
    if (cycles < single_task_cycles) return 1;
    const auto tasks = std::int64_t(std::clamp(std::ceil(cycles / task_cycles), 2.0, most_tasks));
    constexpr std::int64_t few = 16;
    return tasks == 2 || tasks > few ? tasks : 4 * ceil_div(tasks, 4);
}

TaskSplit split_tasks(Kernel& kernel, const std::vector<Axis>& axes, std::int64_t granularity,
                      double cycles_per_point) {
    Nest& nest = kernel.nest;
    TaskSplit split{.task = nest.add(Var{"task"})};
    if (points(axes) == 0) {
        split.tasks = 0;
        for (const Axis& axis : axes) split.loops.push_back({axis, bound(0), bound(axis.extent)});
        return split;
    }
    const double total = cycles_per_point * double(points(axes));
    const std::int64_t wanted =
        std::min(std::max(tasks_for(total), kernel.least_tasks), kernel.most_tasks);
    nest.is_short = wanted > 1 && total < waking_cycles;
    std::size_t cut = 0;
    std::int64_t outer = 1;
    const std::size_t nameable = axes.size() - (granularity > 1 ? 1 : 0);
    while (cut < nameable && outer * axes[cut].extent <= wanted) outer *= axes[cut++].extent;

    std::int64_t blocks = 1;
    for (std::size_t i = cut; i < axes.size(); ++i) {
        AxisRange range{axes[i], bound(0), bound(axes[i].extent)};
        if (i == cut) {
            const std::int64_t granule = i + 1 == axes.size() ? granularity : 1;
            const std::int64_t granules = ceil_div(axes[i].extent, granule);
            const std::int64_t most = std::min(granules, ceil_div(wanted, outer));
            split.chunk = balanced(ceil_div(granules, most), granules, outer) * granule;
            blocks = ceil_div(axes[i].extent, split.chunk);
        }
        if (i == cut && blocks > 1) {
            const VarId block = nest.add(Var{nest.at(axes[i].var).name + "_block"});
            split.names.push_back(
                make_let_var(block, form(split.task), 1, outer == 1 ? 0 : blocks));
            range.lower = bound(form(block, split.chunk));
            const AffineForm end = form(block, split.chunk) + form(split.chunk);
            range.upper = axes[i].extent % split.chunk == 0 ? bound(end) : with(range.upper, end);
        }
        split.loops.push_back(std::move(range));
    }
    std::int64_t divisor = blocks;
    for (std::size_t i = cut; i-- > 0;) {
        const bool is_single = axes[i].extent == 1;
        split.names.push_back(make_let_var(axes[i].var, is_single ? form(0) : form(split.task),
                                           divisor, is_single || i == 0 ? 0 : axes[i].extent));
        divisor *= axes[i].extent;
    }
    split.tasks = outer * blocks;
    return split;
}

std::int64_t piece_of_row(const Kernel& kernel, const Axis& last, std::int64_t granularity) {
    const bool can_share = std::ranges::any_of(
        kernel.free, [&](const Axis& axis) { return axis != last && !kernel.collides(axis.var); });
    if (kernel.colliding.empty() || kernel.collides(last.var) || can_share) return last.extent;
    std::int64_t bytes = 0;
    for (const Store& write : kernel.writes)
        bytes = std::max(bytes, std::int64_t(size_bytes(kernel.nest.at(write.buffer).dtype)));
    const auto pieces = std::uint64_t(last.extent * bytes / least_piece_bytes);
    if (pieces < 2) return last.extent;
    const std::int64_t piece = ceil_div(last.extent, std::int64_t(std::bit_floor(pieces)));
    return std::min(last.extent, ceil_div(piece, granularity) * granularity);
}

TaskSplit split_free_axes(Kernel& kernel, const std::optional<Axis>& last, std::int64_t granularity,
                          double cycles) {
    std::vector<Axis> cut;
    std::vector<Axis> inside;
    for (const Axis& axis : kernel.free)
        if (axis != last) (kernel.collides(axis.var) ? inside : cut).push_back(axis);
    const std::int64_t piece = last ? piece_of_row(kernel, *last, granularity) : 0;
    const bool cuts_last = last && (inside.empty() || piece < last->extent);
    if (last && !cuts_last) inside.push_back(*last);
    if (cuts_last) cut.push_back(*last);
    std::int64_t granule = 1;
    if (cuts_last) granule = inside.empty() ? granularity : piece;
    const std::set<VarId> moving = moving_axes(kernel);
    const auto moves = [&](const AxisRange& range) { return moving.contains(range.axis.var); };
    const bool has_intervals = updates_intervals(kernel);
    if (has_intervals) {
        std::int64_t apart = 1;  // tasks that look for none of each other's intervals
        for (const Axis& axis : cut)
            if (moving.contains(axis.var)) apart *= axis.extent;
        kernel.most_tasks = std::min(kernel.most_tasks, std::max(apart, most_tasks_of_intervals));
    }
    const double outer_points = double(std::max<std::int64_t>(1, points(cut)));
    TaskSplit split = split_tasks(kernel, cut, granule, cycles / outer_points);
    std::vector<AxisRange> whole;
    for (const Axis& axis : inside) whole.push_back({axis, bound(0), bound(axis.extent)});
    // What moves intervals is outside of these, so that each is looked at once. `last`, or a piece
    // of it, is innermost.
    std::vector<AxisRange> innermost;
    if (last) {
        std::vector<AxisRange>& of = cuts_last ? split.loops : whole;
        innermost.push_back(std::move(of.back()));
        of.pop_back();
    }
    auto after = whole.begin();
    if (has_intervals) {
        after = std::ranges::find_if_not(whole, moves);
        const auto others = std::ranges::stable_partition(split.loops, moves);
        split.loops.insert(others.begin(), whole.begin(), after);
    }
    split.loops.insert(split.loops.end(), after, whole.end());
    split.loops.insert(split.loops.end(), innermost.begin(), innermost.end());
    kernel.nest.runs_side_by_side =
        cuts_last && !inside.empty() && split.tasks > 1 && !has_intervals;
    return split;
}

bool is_whole(const AxisRange& range) {
    const auto is = [](const LoopBound& bound, std::int64_t value) {
        return bound.size() == 1 && bound[0].form == form(value);
    };
    return is(range.lower, 0) && is(range.upper, range.axis.extent);
}

Body wrap(const std::vector<AxisRange>& loops, Body body) {
    for (std::size_t i = loops.size(); i-- > 0;) {
        const AxisRange& range = loops[i];
        Body outer;
        outer.push_back(
            make_loop(range.axis.var, Bind::serial, range.lower, range.upper, std::move(body)));
        body = std::move(outer);
    }
    return body;
}

Body parallel(const TaskSplit& split, Body body) {
    Body all = split.names;
    append(all, std::move(body));
    Body root;
    root.push_back(make_loop(split.task, Bind::parallel, split.tasks, std::move(all)));
    return root;
}

Body tasks_inside(const Loop& tasks) {
    Body whole{{tasks}};
    if (tasks.body.empty()) return whole;
    Body all(tasks.body.begin(), std::prev(tasks.body.end()));
    const bool has_common_names = std::ranges::all_of(all, [&](const Stmt& stmt) {
        const auto* name = std::get_if<Let>(&stmt.node);
        return name != nullptr && !depends_on(name->value, tasks.var);
    });
    const auto* walk = std::get_if<Loop>(&tasks.body.back().node);
    if (!has_common_names || walk == nullptr || walk->bind != Bind::serial ||
        is_bounded_by(*walk, tasks.var))
        return whole;
    Loop inner = tasks;
    inner.body = walk->body;
    Loop outer = *walk;
    outer.body.clear();
    outer.body.push_back({std::move(inner)});
    all.push_back({std::move(outer)});
    return all;
}

}  // namespace ricci::codegen
