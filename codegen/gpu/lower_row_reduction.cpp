// codegen/gpu/lower_row_reduction.cpp – threads over the reduced points of each result
#include <algorithm>
#include <cmath>

#include "codegen/gpu/combine_threads.h"
#include "codegen/gpu/lower.h"
#include "codegen/gpu/share_out.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t usual_threads = 256;
constexpr std::int64_t most_threads = 1024;
/// Up to here a warp takes a row: more threads would each have less than four vectors of it.
constexpr std::int64_t longest_of_warp = 1024;
/// Issue slots of one step of a fold: a shuffle goes at a quarter of the rate of other operations.
constexpr double fold_slots = 5;
constexpr double exchange_slots = 20;

class RowReduction {
  public:
    RowReduction(Kernel& kernel, const RowShape& shape, Schedule& schedule)
        : kernel_(kernel),
          shape_(shape),
          schedule_(schedule),
          apart_(apart_axes(kernel)),
          accumulator_(make_accumulator(kernel, shape.unroll * shape.order.vector)) {}

    void run() {
        describe();
        kernel_.nest.body =
            launch(kernel_.nest, shape_.blocks, shape_.block, [&](VarId block, VarId thread) {
                thread_ = thread;
                lane_ = kernel_.nest.add(Var{"lane"});
                const VarId group = kernel_.nest.add(Var{"group"});
                Body body = split_number(group, lane_, form(thread), shape_.threads, shape_.block);
                const std::int64_t groups = shape_.block / shape_.threads;
                const AffineForm result = form(block, groups) + form(group);
                append(body, name_axes(apart_, result));
                const std::int64_t results = points(apart_);
                if (results % groups != 0) is_result_ = is_below(result, results);
                append(body, in_order(one_result()));
                return body;
            });
    }

  private:
    void describe() {
        const std::string& axis = kernel_.nest.at(shape_.order.axes.back().var).name;
        schedule_.directives.push_back(
            {"threads", axis, {shape_.threads}, "neighbours share the points of a result"});
        schedule_.directives.push_back(
            {"block", "", {shape_.block}, "threads; results side by side in it"});
        if (shape_.order.vector > 1)
            schedule_.directives.push_back(
                {"vector", axis, {shape_.order.vector}, "aligned and contiguous"});
        if (shape_.unroll > 1)
            schedule_.directives.push_back(
                {"unroll", axis, {shape_.unroll}, "loads under way at once"});
    }

    /// Points whose writes meet follow each other.
    Body in_order(Body body) {
        const std::vector<Axis> colliding = colliding_axes(kernel_);
        for (std::size_t i = colliding.size(); i-- > 0;) {
            Body loop;
            loop.push_back(
                make_loop(colliding[i].var, Bind::serial, colliding[i].extent, std::move(body)));
            body = std::move(loop);
        }
        return body;
    }

    Body one_result() {
        const std::int64_t elements = shape_.unroll * shape_.order.vector;
        const Lanes all{shape_.order.vector, shape_.unroll, {}};
        Body body = over_lanes(kernel_.nest, all, [&](const AffineForm& offset) {
            return reset(kernel_, accumulator_, offset);
        });
        append(body, guarded(is_result_, reduce()));
        append(body, combine_elements(kernel_, accumulator_, elements));
        const Combined total =
            combine_neighbours(kernel_, body, accumulator_, thread_, shape_.threads, shape_.block);
        // Whoever still reads what this result overwrites comes first.
        const bool has_barrier = shape_.threads > warp;
        if (!has_barrier && updates_what_it_reads(kernel_)) body.push_back({Barrier{}});
        Substitution here;
        total.name_in(kernel_, here);
        const Value is_first = shape_.threads > 1 ? is_zero(form(lane_)) : nullptr;
        append(body, guarded(both(is_result_, is_first), write_all(kernel_, here)));
        return body;
    }

    Body reduce() {
        const Share share{.number = form(lane_),
                          .threads = shape_.threads,
                          .unroll = shape_.unroll,
                          .vector = shape_.order.vector,
                          .order = shape_.order.axes};
        return share_out(kernel_, share, [&](const Turn& turn) {
            return over_lanes(kernel_.nest, {turn.vector, 1, {}}, [&](const AffineForm& lane) {
                Substitution here = at_turn(share, turn, lane);
                const AffineForm element = share.vector * turn.slot + lane;
                const Value test = turn.test ? here(turn.test) : nullptr;
                return guarded(test, update(kernel_, accumulator_, element, here));
            });
        });
    }

    Kernel& kernel_;
    const RowShape& shape_;
    Schedule& schedule_;
    std::vector<Axis> apart_;  ///< the free axes that threads and blocks run over
    Accumulator accumulator_;
    VarId thread_{};
    VarId lane_{};  ///< among the threads of a result
    Value is_result_ = nullptr;
};

}  // namespace

std::int64_t threads_of_result(std::int64_t results, std::int64_t turns, const Target& target) {
    std::int64_t threads = usual_threads;
    if (turns <= longest_of_warp / 4)
        threads = std::clamp(power_of_two_above(ceil_div(turns, 4)),
                             std::min<std::int64_t>(power_of_two_above(turns), 4), warp);
    const std::int64_t busy = std::int64_t(target.gpu.multiprocessors) * most_threads;
    while (threads < most_threads && results * threads < busy && turns >= 2 * threads) threads *= 2;
    return threads;
}

RowShape row_shape(const Kernel& kernel, const Target& target) {
    const std::vector<Touch> body = touches_of(kernel, Part::body);
    const std::int64_t results = points(apart_axes(kernel));
    const bool may_vector = is_box(kernel) && !kernel.conditions.rest;
    const CheapestOrder cheapest = cheapest_order(kernel, body, kernel.free, kernel.reduced,
                                                  may_vector ? Vectors::with_tail : Vectors::none);
    RowShape shape{.order = cheapest.order};
    const std::int64_t reduced = points(kernel.reduced);
    const std::int64_t turns = ceil_div(reduced, shape.order.vector);
    shape.threads = threads_of_result(results, std::max<std::int64_t>(turns, 1), target);
    shape.block = std::max(usual_threads, shape.threads);
    const std::int64_t most = kernel.is_arg_reduction() || body_cost(kernel) > 24 ? 2 : 4;
    if (is_box(kernel))
        shape.unroll = std::clamp<std::int64_t>(
            power_of_two_below(std::max<std::int64_t>(turns / shape.threads, 1)), 1, most);
    shape.blocks = ceil_div(results, shape.block / shape.threads);

    // A fold is done once for a result, by all the threads that share it; so is all that a thread
    // does besides its points.
    double fold = fold_slots * std::log2(double(std::min(shape.threads, warp)));
    if (kernel.is_arg_reduction()) fold *= 3;
    if (shape.threads > warp) fold = 2 * fold + exchange_slots;
    const double points_of_thread =
        double(std::max<std::int64_t>(reduced, 1)) / double(shape.threads);
    const double turns_of_thread =
        double(ceil_div(std::max<std::int64_t>(turns, 1), shape.threads));
    const double idle = turns_of_thread * double(shape.order.vector) / points_of_thread;
    shape.slots = cheapest.slots * idle + (fold + thread_slots) / points_of_thread;
    return shape;
}

void lower_row_reduction(Kernel kernel, const RowShape& shape, PlanBuilder& builder) {
    Schedule schedule{Strategy::row_reduction, kernel.nest.name, {}};
    RowReduction(kernel, shape, schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen::gpu
