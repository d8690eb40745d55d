// codegen/lower_row_reduction.cpp – lanes over a reduced axis, folded at the end of each row
#include <algorithm>

#include "codegen/lower.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

class RowReduction {
  public:
    RowReduction(Kernel& kernel, const LanePlan& lanes, Schedule& schedule)
        : kernel_(kernel),
          schedule_(schedule),
          lanes_(lanes.lanes),
          unroll_(vectors(kernel, lanes)),
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
        Body body = over_lanes(kernel_.nest, {lanes_, unroll_, {}}, [&](const AffineForm& offset) {
            return reset(kernel_, accumulator_, offset);
        });
        append(body, reduce());
        append(body, fold());
        Substitution here;
        here.replace_let(0, result(kernel_, total_, form(0)));
        append(body, write_all(kernel_, here));
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    /// Vectors of partial results: enough to hide the latency of an addition.
    static std::int64_t vectors(const Kernel& kernel, const LanePlan& lanes) {
        const std::int64_t most = kernel.is_arg_reduction() ? 2 : 4;
        const std::int64_t full = lanes.axis->extent / lanes.lanes;
        std::int64_t count = 1;
        while (count * 2 <= std::min(most, full)) count *= 2;
        return count;
    }

    void describe(const TaskSplit& split) {
        const std::string& axis = kernel_.nest.at(reduced_.loops.back().axis.var).name;
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        schedule_.directives.push_back(
            {"vector", axis, {lanes_}, "the reduced axis is the contiguous one"});
        schedule_.directives.push_back(
            {"unroll", axis, {unroll_}, "vectors that accumulate side by side"});
    }

    Body reduce() {
        std::vector<AxisRange> outer;
        for (std::size_t i = 0; i + 1 < reduced_.loops.size(); ++i)
            outer.push_back(
                {reduced_.loops[i].axis, reduced_.loops[i].lower, reduced_.loops[i].upper});
        return wrap(outer, lane_loops(reduced_.loops.back()));
    }

    Body lane_loops(const ReducedLoop& loop) {
        const VarId first = kernel_.nest.add(Var{kernel_.nest.at(loop.axis.var).name + "0"});
        const bool is_whole = loop.lower.size() == 1 && loop.upper.size() == 1 &&
                              loop.lower[0].form.is_constant() && loop.upper[0].form.is_constant();
        Body body;
        if (!is_whole) {
            // The row's ends move with the outer axes: every vector is masked.
            Lanes masked{lanes_, 1, {}};
            for (const BoundTerm& term : loop.upper)
                masked.limit.push_back({term.form - term.divisor * form(first), term.divisor});
            body.push_back(make_loop(first, Bind::serial, loop.lower, loop.upper,
                                     vectors_at(loop.axis, masked, form(first)), lanes_));
            return body;
        }
        const std::int64_t lower = loop.lower[0].form.constant;
        const std::int64_t upper = loop.upper[0].form.constant;
        const std::int64_t width = lanes_ * unroll_;
        const std::int64_t full = lower + (upper - lower) / width * width;
        if (full > lower)
            body.push_back(make_loop(first, Bind::serial, bound(lower), bound(full),
                                     vectors_at(loop.axis, {lanes_, unroll_, {}}, form(first)),
                                     width));
        if (full < upper) {
            const VarId rest = kernel_.nest.add(Var{kernel_.nest.at(loop.axis.var).name + "1"});
            Lanes masked{lanes_, 1, {}};
            if ((upper - full) % lanes_ != 0) masked.limit = bound(form(upper) - form(rest));
            body.push_back(make_loop(rest, Bind::serial, bound(full), bound(upper),
                                     vectors_at(loop.axis, masked, form(rest)), lanes_));
        }
        return body;
    }

    Body vectors_at(const Axis& axis, const Lanes& lanes, const AffineForm& start) {
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            Substitution here;
            here.replace(axis.var, start + offset);
            const Value test = reduced_.test ? here(reduced_.test) : nullptr;
            return guarded(test, update(kernel_, accumulator_, offset, here));
        });
    }

    Body fold() { return kernel_.is_arg_reduction() ? fold_pairs() : fold_values(); }

    /// Halves the vectors until one is left, then folds its lanes.
    Body fold_values() {
        Body body;
        for (std::int64_t half = unroll_ / 2; half > 0; half /= 2)
            append(body,
                   over_lanes(kernel_.nest, {lanes_, half, {}}, [&](const AffineForm& offset) {
                       return combine(kernel_, accumulator_, offset,
                                      partial(offset + form(half * lanes_)), {});
                   }));
        append(body, reset(kernel_, total_, form(0)));
        append(body, over_lanes(kernel_.nest, {lanes_, 1, {}}, [&](const AffineForm& offset) {
                   return combine(kernel_, total_, form(0), partial(offset), {});
               }));
        return body;
    }
    [[nodiscard]] Value partial(const AffineForm& element) const {
        return make_load(kernel_.nest, accumulator_.value, {element});
    }

    /// Values and places go through memory and are compared one by one.
    Body fold_pairs() {
        const std::int64_t count = lanes_ * unroll_;
        const auto scratch = [&](const char* name, DType dtype) {
            return kernel_.nest.add(Buffer{.name = name,
                                           .dtype = dtype,
                                           .space = Space::scratch,
                                           .elements = count,
                                           .is_written = true});
        };
        const BufferId values = scratch("values", kernel_.body->dtype);
        const BufferId places = scratch("places", DType::i64);
        Body body = over_lanes(kernel_.nest, {lanes_, unroll_, {}}, [&](const AffineForm& offset) {
            Body stores;
            stores.push_back(make_store(values, {offset}, partial(offset)));
            stores.push_back(make_store(places, {offset},
                                        make_load(kernel_.nest, *accumulator_.place, {offset})));
            return stores;
        });
        append(body, reset(kernel_, total_, form(0)));
        const VarId lane = kernel_.nest.add(Var{"lane"});
        body.push_back(make_loop(
            lane, Bind::serial, count,
            combine(kernel_, total_, form(0), make_load(kernel_.nest, values, {form(lane)}),
                    make_load(kernel_.nest, places, {form(lane)}))));
        return body;
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
    Schedule schedule{Strategy::row_reduction, kernel.nest.name, {}};
    RowReduction(kernel, lanes, schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
