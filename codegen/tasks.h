// codegen/tasks.h – cutting the outer axes of a kernel into tasks
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// The part of an axis that one task runs over.
struct AxisRange {
    Axis axis;
    LoopBound lower;
    LoopBound upper;
};
/// Whether it is the whole axis.
[[nodiscard]] bool is_whole(const AxisRange& range);

/// How axes become tasks: the outermost ones are named by the task's number, the next is cut into
/// chunks, the rest runs whole inside.
struct TaskSplit {
    VarId task{};
    std::int64_t tasks = 1;
    std::int64_t chunk = 0;             ///< points of the cut axis a task
    Body names = {};                    ///< LetVars of the axes that have no loop
    std::vector<AxisRange> loops = {};  ///< the others, outermost first
};

/// Cuts so that a task takes about `task_cycles`. Depends on extents and costs alone, so that
/// results do not depend on the number of threads; few tasks are of equal size, as for two or four
/// threads, and as many as the kernel's `least_tasks` and `most_tasks` allow. Chunks of the last
/// axis are multiples of `granularity`.
[[nodiscard]] TaskSplit split_tasks(Kernel& kernel, const std::vector<Axis>& axes,
                                    std::int64_t granularity, double cycles_per_point);

/// Cuts the free axes of a kernel, `last` (one of them, or none) innermost. Axes along which writes
/// collide run whole and in order inside each task; where there are no others, tasks share `last`.
[[nodiscard]] TaskSplit split_free_axes(Kernel& kernel, const std::optional<Axis>& last,
                                        std::int64_t granularity, double cycles);

/// The points of `last` that a task has at least, a multiple of the granularity, where writes
/// collide along all other axes: pieces of rows too short to be worth a walk of all are not made,
/// but for the last one, which is the rest.
[[nodiscard]] std::int64_t piece_of_row(const Kernel& kernel, const Axis& last,
                                        std::int64_t granularity);

/// The cycles that are worth a task: 150,000 (some 0.05 ms). Below 15,000 in all there is one task.
inline constexpr double task_cycles = 150'000;
/// How many tasks so many cycles are worth: as many as two and four threads take equal shares of,
/// unless they are many.
[[nodiscard]] std::int64_t tasks_for(double cycles);

/// Cycles that a line of the caches costs which one thread writes and another reads, time and
/// again. Such that small products are cut well on two cores of a Xeon: of 64x784 by 784x64 (f32),
/// whose threads read each other's panels, 56 us became 24 (`ricci bench --threads 2
/// "C[i,j] := A[i,k]*B[j,k]" A=64x784 B=64x784`).
inline constexpr double handing_over_cycles = 70;

/// Puts serial loops over the ranges around a body, the first outermost.
[[nodiscard]] Body wrap(const std::vector<AxisRange>& loops, Body body);

/// The whole body of a nest: the parallel loop, the names, then `body`.
[[nodiscard]] Body parallel(const TaskSplit& split, Body body);

/// The loop over tasks inside of the loop that each of them is, behind what that names before it;
/// `tasks` as it is where a task is anything else, or bounds or names change from task to task.
[[nodiscard]] Body tasks_inside(const Loop& tasks);

}  // namespace ricci::codegen
