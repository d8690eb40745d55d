// codegen/lower_row_reduction.cpp – lanes over a reduced axis, folded at the end of each row
#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/row_loops.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

class RowReduction {
  public:
    RowReduction(Kernel& kernel, const LanePlan& lanes, Schedule& schedule)
        : kernel_(kernel),
          schedule_(schedule),
          lanes_(lanes.lanes),
          unroll_(vectors_side_by_side(lanes.axis->extent, lanes.lanes,
                                       kernel.is_arg_reduction() ? 2 : 4)),
          cycles_(lanes.cycles),
          accumulator_(make_accumulator(kernel, lanes_ * unroll_)),
          total_(make_accumulator(kernel, 1)) {
        std::vector<Axis> order = kernel.reduced;
        std::erase(order, *lanes.axis);
        order.push_back(*lanes.axis);
        reduced_ = reduced_loops(kernel, order);
    }

    void run() {
        const TaskSplit split = split_free_axes(kernel_, std::nullopt, 1, cycles_);
        describe(split);
        Body body = reset_all(kernel_, accumulator_, lanes_, unroll_);
        append(body, over_row(kernel_.nest, reduced_.loops, lanes_, unroll_,
                              [&](const Axis& axis, const Lanes& lanes, const AffineForm& start) {
                                  return vectors_at(axis, lanes, start);
                              }));
        append(body, fold(kernel_, accumulator_, total_, lanes_, unroll_));
        Substitution here;
        here.replace_let(0, result(kernel_, total_, form(0)));
        append(body, write_all(kernel_, here));
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    void describe(const TaskSplit& split) {
        const std::string& axis = kernel_.nest.at(reduced_.loops.back().axis.var).name;
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        schedule_.directives.push_back(
            {"vector", axis, {lanes_}, "the reduced axis is the contiguous one"});
        schedule_.directives.push_back(
            {"unroll", axis, {unroll_}, "vectors that accumulate side by side"});
    }

    Body vectors_at(const Axis& axis, const Lanes& lanes, const AffineForm& start) {
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            Substitution here;
            here.replace(axis.var, start + offset);
            const Value test = reduced_.test ? here(reduced_.test) : nullptr;
            return guarded(test, update(kernel_, accumulator_, offset, here));
        });
    }

    Kernel& kernel_;
    Schedule& schedule_;
    std::int64_t lanes_;
    std::int64_t unroll_;
    double cycles_;
    Accumulator accumulator_;
    Accumulator total_;
    ReducedLoops reduced_;
};

}  // namespace

void lower_row_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::row_reduction, kernel.nest.name, work_of(kernel)};
    RowReduction(kernel, lanes, schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
