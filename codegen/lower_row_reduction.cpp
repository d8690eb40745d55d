// codegen/lower_row_reduction.cpp – lanes over a reduced axis, folded at the end of each row
#include <algorithm>
#include <functional>

#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/row_loops.h"
#include "codegen/row_tile.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

namespace {

class RowReduction {
  public:
    RowReduction(Kernel& kernel, const LanePlan& lanes, const Target& target, Schedule& schedule)
        : kernel_(kernel),
          schedule_(schedule),
          tile_(choose_row_tile(kernel, *lanes.axis, target)),
          lanes_(lanes.lanes),
          unroll_(tile_.count() > 1 ? 1
                                    : vectors_side_by_side(lanes.axis->extent, lanes.lanes,
                                                           kernel.is_arg_reduction() ? 2 : 4)),
          cycles_(lanes.cycles),
          accumulator_(make_accumulator(kernel, lanes_ * unroll_ * tile_.count())),
          total_(make_accumulator(kernel, 1)) {
        std::vector<Axis> order = kernel.reduced;
        std::erase(order, *lanes.axis);
        order.push_back(*lanes.axis);
        reduced_ = reduced_loops(kernel, order);
    }

    void run() {
        if (tile_.count() > 1) cut_tiles();
        const TaskSplit split = split_free_axes(kernel_, std::nullopt, 1, cycles_);
        describe(split);
        Body body = reset_all(kernel_, accumulator_, lanes_, unroll_ * tile_.count());
        append(body, over_row(kernel_.nest, reduced_.loops, lanes_, unroll_,
                              [&](const Axis& axis, const Lanes& lanes, const AffineForm& start) {
                                  return vectors_at(axis, lanes, start);
                              }));
        append(body, each_row([&](Substitution& here, const AffineForm& first) {
                   Body row = fold(kernel_, accumulator_, total_, lanes_, unroll_, first);
                   here.replace_let(0, result(kernel_, total_, form(0)));
                   append(row, write_all(kernel_, here));
                   return row;
               }));
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    void describe(const TaskSplit& split) {
        const std::string& axis = kernel_.nest.at(reduced_.loops.back().axis.var).name;
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        schedule_.directives.push_back(
            {"vector", axis, {lanes_}, "the reduced axis is the contiguous one"});
        if (tile_.count() > 1)
            schedule_.directives.push_back(
                {"tile", "", {tile_.rows, tile_.columns}, "rows that share loads"});
        else
            schedule_.directives.push_back(
                {"unroll", axis, {unroll_}, "vectors that accumulate side by side"});
    }

    /// The two axes of the tile become axes of tiles.
    void cut_tiles() {
        const auto cut = [&](const Axis& axis, std::int64_t count) {
            const Axis tiles{kernel_.nest.add(Var{kernel_.nest.at(axis.var).name + "_tile"}),
                             axis.extent / count};
            std::ranges::replace(kernel_.free, axis, tiles);
            return tiles.var;
        };
        row_tile_ = cut(tile_.row_axis, tile_.rows);
        column_tile_ = cut(tile_.column_axis, tile_.columns);
    }

    /// The body for each row of the tile, whose partial results begin at `first`.
    Body each_row(const std::function<Body(Substitution& here, const AffineForm& first)>& make) {
        Substitution here;
        if (tile_.count() == 1) return make(here, form(0));
        const VarId row = kernel_.nest.add(Var{"row"});
        const VarId column = kernel_.nest.add(Var{"column"});
        here.replace(tile_.row_axis.var, form(row_tile_, tile_.rows) + form(row));
        here.replace(tile_.column_axis.var, form(column_tile_, tile_.columns) + form(column));
        Body columns;
        columns.push_back(
            make_loop(column, Bind::unroll, tile_.columns,
                      make(here, form(row, lanes_ * tile_.columns) + form(column, lanes_))));
        Body rows;
        rows.push_back(make_loop(row, Bind::unroll, tile_.rows, std::move(columns)));
        return rows;
    }

    Body vectors_at(const Axis& axis, const Lanes& lanes, const AffineForm& start) {
        return each_row([&](const Substitution& row, const AffineForm& first) {
            return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                Substitution here = row;
                here.replace(axis.var, start + offset);
                const Value test = reduced_.test ? here(reduced_.test) : nullptr;
                return guarded(test, update(kernel_, accumulator_, first + offset, here));
            });
        });
    }

    Kernel& kernel_;
    Schedule& schedule_;
    RowTile tile_;
    std::int64_t lanes_;
    std::int64_t unroll_;
    double cycles_;
    Accumulator accumulator_;
    Accumulator total_;
    ReducedLoops reduced_;
    VarId row_tile_{};
    VarId column_tile_{};
};

}  // namespace

void lower_row_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::row_reduction, kernel.nest.name, work_of(kernel)};
    RowReduction(kernel, lanes, builder.target(), schedule).run();
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
