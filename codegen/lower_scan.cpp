// codegen/lower_scan.cpp – reductions up to each point: one walk, a result after every step
//
// `Y[i,k] := sum[l | l <= k](X[i,l])` takes n points for n results where each row is walked once,
// not n^2/2. Rows are lanes. Where they lie side by side in memory (`Y[k,i]`), vectors of them are
// read and written; where points do (`Y[i,k]`), as many points as lanes are taken at a time and
// loaded, and stored, as squares that emitters transpose.
//
// Sums of floating numbers restart in every block of points, and are added to what stands before
// it: an error grows with the length of a block and their number, not their product.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/integer.h"
#include "codegen/fold_indices.h"
#include "codegen/lane_steps.h"
#include "codegen/lower.h"
#include "codegen/scan_rows.h"
#include "codegen/scan_walk.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Points that are combined before what stands before them is.
constexpr std::int64_t block_of_points = 16;
/// Vectors of what stays along rows that registers hold.
constexpr std::int64_t most_held = 8;
/// A single row of fewer points is left to masked lanes.
constexpr std::int64_t least_alone = 48;

class Scan {
  public:
    Scan(Kernel& kernel, ScanWalk walk, RowLanes rows, Schedule& schedule)
        : kernel_(kernel),
          walk_(std::move(walk)),
          rows_(std::move(rows)),
          schedule_(schedule),
          columns_(rows_.lanes * rows_.unroll),
          restarts_(is_floating(kernel.body->dtype) && kernel.reducer == Reducer::sum &&
                    !kernel.carry),
          accumulator_(make_accumulator(kernel, columns_)) {
        if (accumulator_.place && (walk_.has_points_backwards || walk_.test || walk_.shift < 0)) {
            accumulator_.is_in_order = false;
            accumulator_.leave_points_out(kernel);
        }
        hold_what_stays();
        const DType dtype = kernel.body->dtype;
        if (restarts_) before_ = add_registers(kernel.nest, "before", dtype, columns_);
        if (!rows_.has_squares) return;
        value_in_square_ =
            walk_.test
                ? make_operation(Op::select,
                                 {walk_.test, kernel.body, identity(*kernel.reducer, dtype)}, dtype)
                : kernel.body;
        square_ = add_registers(kernel.nest, "square", dtype, columns_ * rows_.lanes);
        if (kernel.carry && depends_on(kernel.carry, walk_.points.var))
            carries_ = add_registers(kernel.nest, "carries", dtype, columns_ * rows_.lanes);
        results_ = *square_;
        if (accumulator_.place)
            results_ = add_registers(kernel.nest, "places", DType::i64, columns_ * rows_.lanes);
    }

    /// The walk of the row that the other free axes name.
    Body row() { return walk_rows(Lanes{}); }

    void run(double cycles) {
        std::erase(kernel_.free, walk_.results);
        TaskSplit split = split_free_axes(kernel_, rows_.axis, columns_, cycles);
        describe(split);
        Body body;
        if (rows_.axis) {
            const AxisRange range = split.loops.back();
            split.loops.pop_back();
            body = vectors_of_rows(range);
        } else {
            body = walk_rows(Lanes{});
        }
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    void hold_what_stays() {
        if (!rows_.axis) return;
        std::vector<Along> values;
        // Points that do not count may lie outside.
        if (!walk_.test) values.push_back({kernel_.body, walk_.points});
        if (kernel_.carry) values.push_back({kernel_.carry, walk_.points});
        for (const Store& write : kernel_.writes) values.push_back({write.value, walk_.results});
        std::vector<Value> found = staying_values(values, *rows_.axis);
        found.resize(std::min(found.size(), std::size_t(most_held / rows_.unroll)));
        for (const Value& value : found)
            held_.push_back({value, add_registers(kernel_.nest, "held", value->dtype, columns_)});
    }
    void describe(const TaskSplit& split) {
        const auto say = [&](std::string verb, std::string subject,
                             std::vector<std::int64_t> numbers, std::string why) {
            schedule_.directives.push_back(
                {std::move(verb), std::move(subject), std::move(numbers), std::move(why)});
        };
        say("parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone");
        say("walk", name(walk_.points), {}, "a result after each point");
        if (rows_.axis)
            say("vector", name(*rows_.axis), {rows_.lanes}, "rows are walked side by side");
        if (rows_.unroll > 1)
            say("unroll", name(*rows_.axis), {rows_.unroll},
                "vectors that accumulate side by side");
        if (rows_.has_squares)
            say("unroll", name(walk_.results), {rows_.lanes}, "squares are transposed");
    }
    [[nodiscard]] std::string name(const Axis& axis) const {
        return kernel_.nest.at(axis.var).name;
    }

    /// Whole vectors of rows, then one at a time, of which the last is masked.
    Body vectors_of_rows(const AxisRange& range) {
        const std::int64_t whole = rows_.axis->extent / columns_ * columns_;
        Body body;
        const auto loop = [&](LoopBound lower, LoopBound upper, Lanes lanes) {
            first_row_ = kernel_.nest.add(Var{name(*rows_.axis) + "0"});
            if (!lanes.limit.empty())
                lanes.limit = bound(form(rows_.axis->extent) - form(first_row_));
            Body inner = walk_rows(lanes);
            body.push_back(make_loop(first_row_, Bind::serial, std::move(lower), std::move(upper),
                                     std::move(inner), lanes.lanes * lanes.unroll));
        };
        if (whole > 0)
            loop(range.lower, is_whole(range) ? bound(whole) : with(range.upper, form(whole)),
                 {rows_.lanes, rows_.unroll, {}});
        if (whole < rows_.axis->extent) {
            LoopBound lower = bound(whole);
            if (!is_whole(range)) lower.insert(lower.end(), range.lower.begin(), range.lower.end());
            loop(std::move(lower), range.upper, {rows_.lanes, 1, bound(0)});
        }
        return body;
    }

    /// The rows of some lanes from their first point to their last result.
    Body walk_rows(const Lanes& lanes) {
        lanes_ = lanes;
        Body body;
        for (const auto& [value, registers] : held_)
            append(body, for_lanes([&](const AffineForm& row) {
                       Body hold;
                       Substitution here = at_row(row);
                       const std::vector<Value> values =
                           share(hold, {here(value)}, kernel_.next_let);
                       hold.push_back(make_store(registers, {row}, values[0]));
                       return hold;
                   }));
        append(body, for_lanes([&](const AffineForm& row) {
                   Body start = reset(kernel_, accumulator_, row);
                   if (before_)
                       start.push_back(make_store(*before_, {row},
                                                  identity(*kernel_.reducer, kernel_.body->dtype)));
                   return start;
               }));
        const std::int64_t before = walk_.points_before();
        append(body, stretch(0, before, true, false, 0));
        append(body, stretch(0, walk_.first(), false, true, 0));
        append(body, stretch(walk_.first(), walk_.end(), true, true, walk_.shift));
        append(body, stretch(walk_.end(), walk_.results.extent, false, true, 0));
        return body;
    }

    /// Places `from` to `to` of the walk, in blocks: points are met `shift` behind them, results
    /// written at them.
    Body stretch(std::int64_t from, std::int64_t to, bool has_points, bool has_results,
                 std::int64_t shift) {
        const bool goes_on = !rows_.has_squares && !restarts_;
        const std::int64_t block = goes_on             ? std::max<std::int64_t>(to - from, 1)
                                   : rows_.has_squares ? rows_.lanes
                                                       : block_of_points;
        Body body;
        if (kernel_.carry && has_points && from < to && from + shift == 0) {
            // Nothing stands before the first point; what would carry it may lie outside.
            uncarried_ = 1;
            const std::int64_t turns = goes_on ? 1 : (to - from - 1) % block + 1;
            body = this->block(form(from), turns, has_points, has_results, shift);
            from += turns;
            uncarried_ = 0;
        }
        const std::int64_t whole = from + (to - from) / block * block;
        append(body, make_turns(kernel_.nest, name(walk_.results) + "0", bound(from), bound(whole),
                                block, [&](const AffineForm& place) {
                                    return this->block(place, block, has_points, has_results,
                                                       shift);
                                }));
        if (whole < to)
            append(body, this->block(form(whole), to - whole, has_points, has_results, shift));
        return body;
    }

    Body block(const AffineForm& place, std::int64_t turns, bool has_points, bool has_results,
               std::int64_t shift) {
        Body body;
        if (rows_.has_squares) {
            if (has_points)
                append(body,
                       load_square(*square_, value_in_square_, place + form(shift), 0, turns));
            if (has_points && carries_)
                append(body, load_square(*carries_, kernel_.carry, place + form(shift), uncarried_,
                                         turns));
            append(body, along_square(place + form(shift), turns, has_points, has_results));
            if (has_results) append(body, store_square(place, turns));
        } else {
            const VarId turn = kernel_.nest.add(Var{name(walk_.results)});
            Body step;
            const AffineForm at = place + form(turn);
            if (has_points)
                append(step, for_lanes([&](const AffineForm& row) {
                           return meet(row, at + form(shift), std::nullopt,
                                       kernel_.carry && uncarried_ == 0);
                       }));
            if (has_results)
                append(step, for_lanes([&](const AffineForm& row) {
                           Substitution here = on_row(row);
                           here.replace(walk_.results.var, walk_.result_at(at));
                           here.replace_let(0, so_far(row));
                           return write_all(kernel_, here);
                       }));
            body.push_back(make_loop(turn, Bind::serial, turns, std::move(step)));
        }
        if (has_points && before_)
            append(body, for_lanes([&](const AffineForm& row) {
                       Body restart;
                       restart.push_back(make_store(*before_, {row}, so_far(row)));
                       append(restart, reset(kernel_, accumulator_, row));
                       return restart;
                   }));
        return body;
    }

    /// What a value is at the points of a square, in the order of memory, from one turn on.
    Body load_square(BufferId square, const Value& value, const AffineForm& place,
                     std::int64_t first, std::int64_t turns) {
        return for_turns(turns - first, [&](const AffineForm& turn) {
            const AffineForm q =
                walk_.has_points_backwards ? form(turns - 1) - turn : form(first) + turn;
            return for_lanes([&](const AffineForm& row) {
                Body body;
                Substitution here = on_row(row);
                here.replace(walk_.points.var, walk_.point_at(place + q));
                const Address at{rows_.lanes * q + row};
                const std::vector<Value> values = share(body, {here(value)}, kernel_.next_let);
                body.push_back(make_store(square, at, values[0]));
                return body;
            });
        });
    }
    /// Its points in the order of the walk; what the results are takes the place of the values.
    Body along_square(const AffineForm& place, std::int64_t turns, bool has_points,
                      bool has_results) {
        const auto go = [&](std::int64_t first, std::int64_t end, bool is_carried) {
            return for_turns(end - first, [&](const AffineForm& turn) {
                return for_lanes([&](const AffineForm& row) {
                    Body body;
                    const AffineForm q = form(first) + turn;
                    const AffineForm at = rows_.lanes * q + row;
                    if (has_points) body = meet(row, place + q, at, is_carried);
                    if (has_results) body.push_back(make_store(results_, {at}, so_far(row)));
                    return body;
                });
            });
        };
        Body body = go(0, uncarried_, false);
        append(body, go(uncarried_, turns, kernel_.carry != nullptr));
        return body;
    }
    /// Its results in the order of memory, each array by itself.
    Body store_square(const AffineForm& place, std::int64_t turns) {
        Body body;
        for (const std::vector<Store>& writes : writes_apart()) {
            append(body, for_turns(turns, [&](const AffineForm& turn) {
                       const AffineForm p =
                           walk_.has_results_backwards ? form(turns - 1) - turn : turn;
                       return for_lanes([&](const AffineForm& row) {
                           Substitution here = on_row(row);
                           here.replace(walk_.results.var, walk_.result_at(place + p));
                           here.replace_let(
                               0, make_load(kernel_.nest, results_, {rows_.lanes * p + row}));
                           std::vector<Store> all = std::exchange(kernel_.writes, writes);
                           Body write = write_all(kernel_, here);
                           kernel_.writes = std::move(all);
                           return write;
                       });
                   }));
        }
        return body;
    }
    /// One by one, unless one reads what another writes.
    [[nodiscard]] std::vector<std::vector<Store>> writes_apart() const {
        for (const Touch& touch : touches(kernel_))
            if (!touch.is_store && kernel_.nest.at(touch.buffer).is_written)
                return {kernel_.writes};
        std::vector<std::vector<Store>> apart;
        for (const Store& write : kernel_.writes) apart.push_back({write});
        return apart;
    }

    /// A point joins the accumulator of a row; its value may stand in the square.
    Body meet(const AffineForm& row, const AffineForm& place,
              const std::optional<AffineForm>& in_square, bool is_carried) {
        Substitution here = on_row(row);
        here.replace(walk_.points.var, walk_.point_at(place));
        if (in_square) here.replace(kernel_.body, make_load(kernel_.nest, *square_, {*in_square}));
        if (is_carried) return carry_on(row, here, in_square);
        Body body = update(kernel_, accumulator_, row, here);
        // Values in squares stand for points that do not count, too.
        return in_square || !walk_.test ? std::move(body)
                                        : guarded(here(walk_.test), std::move(body));
    }
    /// What stands before the point is multiplied, and its value added.
    Body carry_on(const AffineForm& row, Substitution& here,
                  const std::optional<AffineForm>& in_square) {
        const DType dtype = kernel_.body->dtype;
        const Value carry = in_square && carries_ ? make_load(kernel_.nest, *carries_, {*in_square})
                                                  : here(kernel_.carry);
        Body body;
        const std::vector<Value> values =
            share(body, {here(kernel_.body), carry}, kernel_.next_let);
        const Value carried =
            make_operation(Op::mul, {result(kernel_, accumulator_, row), values[1]}, dtype);
        body.push_back(make_store(accumulator_.value, {row},
                                  make_operation(Op::add, {carried, values[0]}, dtype)));
        return body;
    }
    /// The result of all points met so far.
    [[nodiscard]] Value so_far(const AffineForm& row) const {
        const Value met = result(kernel_, accumulator_, row);
        if (!before_) return met;
        return make_operation(combining_op(*kernel_.reducer, met->dtype),
                              {make_load(kernel_.nest, *before_, {row}), met}, met->dtype);
    }

    [[nodiscard]] Substitution at_row(const AffineForm& row) const {
        Substitution here;
        if (rows_.axis) here.replace(rows_.axis->var, form(first_row_) + row);
        return here;
    }
    /// The same with what registers hold.
    [[nodiscard]] Substitution on_row(const AffineForm& row) const {
        Substitution here = at_row(row);
        for (const auto& [value, registers] : held_)
            here.replace(value, make_load(kernel_.nest, registers, {row}));
        return here;
    }
    Body for_lanes(const std::function<Body(const AffineForm& row)>& body) {
        return over_lanes(kernel_.nest, lanes_, body);
    }
    Body for_turns(std::int64_t turns, const std::function<Body(const AffineForm& turn)>& body) {
        if (turns == 0) return {};
        const VarId turn = kernel_.nest.add(Var{name(walk_.results)});
        Body loop;
        loop.push_back(make_loop(turn, Bind::unroll, turns, body(form(turn))));
        return loop;
    }

    Kernel& kernel_;
    ScanWalk walk_;
    RowLanes rows_;
    Schedule& schedule_;
    std::int64_t columns_;
    bool restarts_;
    Accumulator accumulator_;
    std::vector<std::pair<Value, BufferId>> held_ = {};
    std::optional<BufferId> before_ = std::nullopt;
    std::optional<BufferId> square_ = std::nullopt;   ///< values by place of the walk, then by row
    std::optional<BufferId> carries_ = std::nullopt;  ///< likewise, of what moves along the points
    std::int64_t uncarried_ = 0;  ///< points of a block that nothing stands before: none or one
    BufferId results_{};          ///< likewise
    Value value_in_square_ = nullptr;
    VarId first_row_{};
    Lanes lanes_ = {};
};

/// The walk, whose conditions the kernel has no longer.
ScanWalk taken_walk(Kernel& kernel, ScanWalk walk) {
    kernel.conditions = {};
    kernel.body = walk.value;
    (void)fold_indices(kernel);
    return walk;
}

}  // namespace

Body walk_row(Kernel& kernel) {
    ScanWalk walk = taken_walk(kernel, *find_walk(kernel, 1));
    std::erase(kernel.free, walk.results);
    Schedule unused;
    return Scan(kernel, std::move(walk), RowLanes{}, unused).row();
}

bool lower_scan(const Kernel& written, PlanBuilder& builder) {
    const Forced forced = builder.target().forced;
    const bool is_other = forced == Forced::tiles || forced == Forced::reduced_lanes ||
                          forced == Forced::free_lanes || forced == Forced::scalar;
    if (is_other && !written.carry) return false;
    const bool is_forced = forced == Forced::scans || written.carry;
    std::optional<ScanWalk> walk = find_walk(written, is_forced ? 1 : least_walked);
    RICCI_ASSERT(walk || !written.carry, "what carries a sum on is made for a walk");
    if (!walk) return false;
    Kernel kernel = written;
    *walk = taken_walk(kernel, std::move(*walk));
    const RowLanes rows = choose_row_lanes(kernel, *walk, builder.target());
    if (!rows.axis && !is_forced && walk->taken() < least_alone) return false;
    Schedule schedule{Strategy::scan, kernel.nest.name, work_of(written, *walk)};
    const double vectors =
        rows.axis ? double(ceil_div(rows.axis->extent, rows.lanes)) / double(rows.axis->extent) : 1;
    const double cycles = double(points(kernel.free)) / double(walk->results.extent) * vectors *
                          (double(walk->taken()) * body_cost(kernel) +
                           double(walk->results.extent) * write_cost(kernel));
    if (rows.axis && !rows.has_squares)
        stream_large_outputs(kernel, *rows.axis, rows.lanes, builder.target(), schedule);
    Scan(kernel, std::move(*walk), rows, schedule).run(cycles);
    builder.add_step(std::move(kernel), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen
