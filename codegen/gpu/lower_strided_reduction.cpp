// codegen/gpu/lower_strided_reduction.cpp – threads over results, rows of them over the reduction
#include <algorithm>

#include "codegen/gpu/combine_threads.h"
#include "codegen/gpu/lower.h"
#include "codegen/gpu/share_out.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t block_threads = 256;
/// Points that are worth a row of threads of their own.
constexpr std::int64_t shortest_part = 8;
/// Turns of a thread that are written out.
constexpr std::int64_t most_written_out = 12;
constexpr double combine_slots = 12;

class StridedReduction {
  public:
    StridedReduction(Kernel& kernel, const ColumnShape& shape, Schedule& schedule)
        : kernel_(kernel),
          shape_(shape),
          schedule_(schedule),
          accumulator_(make_accumulator(kernel, shape.order.vector)) {}

    void run() {
        describe();
        std::vector<Axis> axes = shape_.order.axes;
        if (!axes.empty()) axes.back().extent /= shape_.order.vector;
        const std::int64_t items = points(axes);
        kernel_.nest.body =
            launch(kernel_.nest, shape_.blocks, block_threads, [&](VarId block, VarId thread) {
                const VarId column = kernel_.nest.add(Var{"column"});
                row_ = kernel_.nest.add(Var{"row"});
                Body body = split_number(row_, column, form(thread), shape_.columns, block_threads);
                const AffineForm item = form(block, shape_.columns) + form(column);
                append(body, name_axes(axes, item));
                const Value is_item = items % shape_.columns != 0 ? is_below(item, items) : nullptr;
                append(body, over_results([&](const AffineForm& offset) {
                           return reset(kernel_, accumulator_, offset);
                       }));
                append(body, guarded(is_item, reduce()));
                append(body, combine_rows(kernel_, accumulator_, shape_.order.vector, form(row_),
                                          shape_.rows, form(column), shape_.columns));
                append(body, guarded(both(is_item, is_row_0()), write()));
                return body;
            });
    }

  private:
    void describe() {
        const Nest& nest = kernel_.nest;
        const auto say = [&](std::string verb, std::string subject, std::int64_t number,
                             std::string why) {
            schedule_.directives.push_back(
                {std::move(verb), std::move(subject), {number}, std::move(why)});
        };
        const std::string last =
            shape_.order.axes.empty() ? "" : nest.at(shape_.order.axes.back().var).name;
        say("threads", last, shape_.columns, "neighbours take neighbouring results");
        if (shape_.rows > 1)
            say("rows", nest.at(shape_.reduced.axes.back().var).name, shape_.rows,
                "of threads, each a part of the reduction");
        if (shape_.order.vector > 1)
            say("vector", last, shape_.order.vector, "aligned and contiguous");
        if (shape_.unroll > 1)
            say("unroll", nest.at(shape_.reduced.axes.back().var).name, shape_.unroll,
                "loads under way at once");
    }

    [[nodiscard]] Value is_row_0() const { return shape_.rows > 1 ? is_zero(form(row_)) : nullptr; }

    /// The results of a thread: one vector.
    Body over_results(const std::function<Body(const AffineForm& offset)>& make) {
        return over_lanes(kernel_.nest, {shape_.order.vector, 1, {}}, make);
    }
    /// The last free axis counts in vectors; everywhere else it is the axis itself.
    void name_result(Substitution& here, const AffineForm& offset) const {
        if (shape_.order.vector == 1) return;
        const VarId last = shape_.order.axes.back().var;
        here.replace(last, form(last, shape_.order.vector) + offset);
    }

    Body reduce() {
        const Share share{.number = form(row_),
                          .threads = shape_.rows,
                          .unroll = shape_.unroll,
                          .vector = 1,
                          .order = shape_.reduced.axes};
        return share_out(kernel_, share, [&](const Turn& turn) {
            return over_results([&](const AffineForm& offset) {
                Substitution here = at_turn(share, turn, form(0));
                name_result(here, offset);
                const Value test = turn.test ? here(turn.test) : nullptr;
                return guarded(test, update(kernel_, accumulator_, offset, here));
            });
        });
    }

    Body write() {
        return over_results([&](const AffineForm& offset) {
            Substitution here;
            name_result(here, offset);
            in_registers(kernel_, accumulator_, offset).name_in(kernel_, here);
            return write_all(kernel_, here);
        });
    }

    Kernel& kernel_;
    const ColumnShape& shape_;
    Schedule& schedule_;
    Accumulator accumulator_;
    VarId row_{};
};

/// Threads side by side, and rows of them: a part of the reduction for each row, as long as there
/// are not enough results to keep all multiprocessors busy.
void choose_block(ColumnShape& shape, std::int64_t items, std::int64_t reduced,
                  const Target& target) {
    const std::int64_t busy = std::int64_t(target.gpu.multiprocessors) * 1024;
    const std::int64_t widest = std::min(power_of_two_above(items), block_threads);
    shape.columns = widest;
    while (shape.columns > std::min(widest, warp) &&
           items * (block_threads / shape.columns) < busy &&
           reduced >= 2 * shortest_part * (block_threads / shape.columns))
        shape.columns /= 2;
    shape.rows = block_threads / shape.columns;
    shape.blocks = ceil_div(items, shape.columns);
}

}  // namespace

ColumnShape column_shape(const Kernel& kernel, const Target& target) {
    const std::vector<Touch> body = touches_of(kernel, Part::body);
    const bool may_vector = is_box(kernel) && !kernel.conditions.rest;
    const CheapestOrder walk =
        cheapest_order(kernel, body, kernel.free, kernel.reduced, Vectors::none);
    const CheapestOrder cheapest =
        cheapest_order(kernel, body, walk.order.axes, kernel.free,
                       may_vector ? Vectors::whole : Vectors::none, walk.order.axes);
    ColumnShape shape{.order = cheapest.order, .reduced = walk.order};
    const std::int64_t items = points(kernel.free) / shape.order.vector;
    const std::int64_t reduced = points(kernel.reduced);
    choose_block(shape, items, reduced, target);
    const std::int64_t turns = std::max<std::int64_t>(ceil_div(reduced, shape.rows), 1);
    const std::int64_t most = kernel.is_arg_reduction() || body_cost(kernel) > 24 ? 2 : 4;
    if (is_box(kernel))
        shape.unroll = turns <= most_written_out && most > 2
                           ? turns
                           : std::clamp<std::int64_t>(power_of_two_below(turns), 1, most);

    double steps = 0;
    for (std::int64_t rows = shape.rows; rows > 1; rows /= 2) steps += 1;
    const double idle =
        double(shape.blocks * shape.columns) / double(std::max<std::int64_t>(items, 1));
    const double points_of_thread = double(turns) * double(shape.order.vector);
    const double rows_idle =
        double(turns * shape.rows) / double(std::max<std::int64_t>(reduced, 1));
    shape.slots = cheapest.slots * idle * rows_idle +
                  (steps * combine_slots + thread_slots) * idle / points_of_thread;
    return shape;
}

void lower_strided_reduction(Kernel kernel, const ColumnShape& shape, PlanBuilder& builder) {
    Schedule schedule{Strategy::strided_reduction, kernel.nest.name, {}};
    StridedReduction(kernel, shape, schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen::gpu
