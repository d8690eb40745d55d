// codegen/gpu/lower_walk.cpp – a thread for each row of a walk (codegen/recurrences.h)
#include "base/integer.h"
#include "codegen/gpu/lower.h"
#include "codegen/gpu/threads.h"
#include "codegen/scan_walk.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

namespace {

/// Few rows are spread over many multiprocessors.
constexpr std::int64_t block_threads = 64;

}  // namespace

void lower_walk(Kernel kernel, PlanBuilder& builder) {
    Schedule schedule{Strategy::scan, kernel.nest.name, {}};
    const std::string along = kernel.nest.at(kernel.reduced[0].var).name;
    Body row = walk_row(kernel);
    const ThreadOrder order = cheapest_order(kernel, touches_of(kernel, Part::body), {},
                                             kernel.free, Vectors::none, kernel.reduced)
                                  .order;
    const std::int64_t rows = points(kernel.free);
    const std::int64_t blocks = ceil_div(rows, block_threads);
    schedule.say("threads", order.axes.empty() ? "" : kernel.nest.at(order.axes.back().var).name,
                 block_threads, "a row each");
    schedule.say("walk", along, kernel.reduced[0].extent, "points, in order");
    kernel.nest.body = launch(kernel.nest, blocks, block_threads, [&](VarId block, VarId thread) {
        const AffineForm number = form(block, block_threads) + form(thread);
        Body body = name_axes(order.axes, number);
        append(body, guarded(rows % block_threads != 0 ? is_below(number, rows) : nullptr,
                             std::move(row)));
        return body;
    });
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen::gpu
