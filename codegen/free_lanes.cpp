// codegen/free_lanes.cpp – loops whose lanes run over a free axis
#include "codegen/free_lanes.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/data_intervals.h"
#include "codegen/gathered_rows.h"
#include "codegen/guarded_reads.h"
#include "codegen/interval_blocks.h"
#include "codegen/lane_masking.h"
#include "codegen/lane_span.h"
#include "codegen/lane_steps.h"
#include "codegen/named_values.h"
#include "codegen/nest_walk.h"
#include "codegen/scalar_points.h"
#include "codegen/take_condition.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Squares side by side along the axis that is transposed, for each vector of lanes: a row of the
/// operand is read from one page for all of them. Their stores are to rows of their own; where
/// these are near to each other, longer rows are read: 49 MB of images to channels last took 3.5 ms
/// with 4 squares, 2.9 with 8, 2.3 with 16; rows of 16 KiB 4.0, 4.5 and 4.9.
constexpr std::int64_t least_squares_of_strip = 4;
constexpr std::int64_t most_squares_of_strip = 16;
constexpr std::int64_t near_bytes = 64 << 10;
/// Of whole lines that are written past the caches of CPUs with short vectors: 51 MB of images to
/// channels last took 6.2 ms with 4 squares, 5.1 with 8, 5.5 with 16, channels first 4.9, 4.3, 4.0
/// (Zen 3, by the squares of 16 lanes that `lanes_of_lines` makes).
constexpr std::int64_t streamed_squares_of_strip = 8;
/// Vectors of accumulators that hide the latency of a multiply-add, and use what rows share.
constexpr std::int64_t vectors_side_by_side = 8;
class FreeLanes {
  public:
    FreeLanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll, const SharedLoads& shared,
              const Target& target, Schedule& schedule)
        : kernel_(kernel),
          lanes_(lanes),
          unroll_(unroll),
          windows_(shared.windows),
          rows_of_lanes_(shared.rows),
          target_(target),
          schedule_(schedule) {
        if (lanes.axis) inner_ = lanes.axis->var;
        if (!kernel.body) return;
        if (!lanes.axis || !has_interval(kernel, lanes.axis->var)) take_where(kernel);
        if (lanes.is_masked)
            masking_ = mask_lanes(kernel, *lanes.axis, lanes.lanes * unroll, windows_.has_value());
        put_side_by_side();
        accumulator_ = make_accumulator(kernel, rows_ * lanes.lanes * unroll);
        const std::int64_t lanes_of_row = lanes.lanes * unroll;
        if (lanes.is_masked) {
            mask_ = add_registers(kernel.nest, "mask", DType::boolean, lanes_of_row);
            if (accumulator_.place) accumulator_.leave_points_out(kernel);
        }
        for (const Value& load : shared.held)
            held_.push_back(
                {load, add_registers(kernel.nest, "held", load->dtype, rows_ * lanes_of_row)});
        if (!windows_) return;
        for (const Value& read : windows_->reads)
            lines_.push_back({read, add_registers(kernel.nest, "line", read->dtype, lanes_of_row)});
    }

    void run() {
        find_transposed();
        find_between();
        TaskSplit split =
            split_free_axes(kernel_, lanes_.axis, lanes_.lanes * unroll_, lanes_.cycles);
        describe(split);
        Body names = name_even();
        Body body;
        std::optional<AxisRange> range;
        if (lanes_.axis) {
            range = split.loops.back();
            split.loops.pop_back();
            body = transposed_ ? transposed_loops(*range) : rows(split, *range);
        } else if (kernel_.body) {
            body = point(Lanes{}, form(0));
        } else {
            body = scalar_points(kernel_, split, take_alternatives(kernel_),
                                 [&](auto axis, const auto& place) {
                                     inner_ = axis;
                                     return at(place);
                                 });
        }
        append(names, wrap_in_blocks(kernel_, split.loops, range, std::move(body)));
        kernel_.nest.body = parallel(split, std::move(names));
    }

  private:
    void describe(const TaskSplit& split) {
        const Nest& nest = kernel_.nest;
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        if (!lanes_.axis) {
            schedule_.directives.push_back({"scalar", "", {}, "no axis gains from lanes"});
            return;
        }
        schedule_.directives.push_back({"vector",
                                        nest.at(lanes_.axis->var).name,
                                        {lanes_.lanes},
                                        "cheapest loads and stores"});
        if (unroll_ > 1)
            schedule_.directives.push_back({"unroll",
                                            nest.at(lanes_.axis->var).name,
                                            {unroll_},
                                            kernel_.body ? "vectors that accumulate side by side"
                                                         : "vectors computed side by side"});
        const char* shared = windows_         ? "points whose windows share loads"
                             : rows_of_lanes_ ? "points between those of neighbouring lanes"
                                              : "points that share loads";
        if (rows_ > 1)
            schedule_.directives.push_back(
                {"unroll", nest.at(row_axis_.var).name, {rows_}, shared});
        if (lanes_.is_masked)
            schedule_.directives.push_back({"mask",
                                            nest.at(lanes_.axis->var).name,
                                            {},
                                            "which points are summed moves with the lanes"});
    }

    /// Few vectors along the lanes' axis are summed for several points of another one, which share
    /// loads and masks. Chooses that axis: what is summed must not depend on it.
    void put_side_by_side() {
        reduced_ = reduced_loops(kernel_, kernel_.reduced);
        if (!lanes_.axis || lanes_.is_reduced_axis || kernel_.is_arg_reduction()) return;
        if (windows_ || rows_of_lanes_) {
            const std::optional<Axis> axis = windows_ ? windows_->rows : rows_of_lanes_->axis;
            if (!axis) return;
            row_axis_ = *axis;
            rows_ = axis->extent;
            std::erase(kernel_.free, *axis);
            return;
        }
        if (body_cost(kernel_) > most_shared_operations) return;
        const std::vector<Touch> all =
            touches(has_masked_stores(target_) ? with_plain_reads(kernel_) : kernel_);
        // More of them where a long sum is read once for all.
        std::int64_t most = target_.vector_registers * 3 / 4 / unroll_;
        std::optional<Axis> chosen =
            most_sharing_axis(kernel_, *lanes_.axis, all, most, [&](const Axis& axis) {
                return !moves_bounds(axis) && shares_long_reads(kernel_, *lanes_.axis, axis, all);
            });
        if (!chosen) {
            most = vectors_side_by_side / unroll_;
            chosen = most_sharing_axis(kernel_, *lanes_.axis, all, most,
                                       [&](const Axis& axis) { return !moves_bounds(axis); });
        }
        if (!chosen) return;
        row_axis_ = *chosen;
        rows_ = divisor_up_to(chosen->extent, most);
        const VarId blocks = kernel_.nest.add(Var{kernel_.nest.at(chosen->var).name + "_rows"});
        first_row_ = form(blocks, rows_);
        std::ranges::replace(kernel_.free, *chosen, Axis{blocks, chosen->extent / rows_});
    }
    [[nodiscard]] bool moves_bounds(const Axis& axis) const {
        return moves_with(reduced_, axis.var) || has_interval(kernel_, axis.var) ||
               std::ranges::any_of(masking_.at_least_zero, [&](const AffineForm& condition) {
                   return condition.coefficient(axis.var) != 0;
               });
    }

    /// Values that are the same at all points have their name before the loops.
    Body name_even() {
        return names_.add(kernel_, [&](const Value& node) { return is_even(kernel_, node); });
    }
    /// Rows one after the other.
    Body rows(TaskSplit& split, const AxisRange& range) {
        if (kernel_.body || asks_for_rows()) return row_loops(split, range);
        return rows_in_turns(kernel_, split, *lanes_.axis, [&] {
            const NamedValues before = names_;
            Body row = row_loops(split, range);
            names_ = before;
            return row;
        });
    }
    /// Whether rows whose places are data are asked for, each by the one some rows before it.
    [[nodiscard]] bool asks_for_rows() const {
        return std::ranges::any_of(
            gathered_rows(kernel_, *lanes_.axis),
            [&](const GatheredRow& row) { return is_far(kernel_, row, target_); });
    }
    /// Before the lanes of a row whose place is data stand that place and what asks for others.
    Body row_loops(const TaskSplit& split, const AxisRange& range) {
        std::vector<GatheredRow> rows;
        if (!kernel_.body && !split.loops.empty()) rows = gathered_rows(kernel_, *lanes_.axis);
        if (rows.empty()) return lane_loops(range);
        Body body = prefetch_rows(kernel_, rows, split.loops.back().axis, range, target_);
        if (!body.empty())
            schedule_.directives.push_back({"prefetch", "", {}, "rows whose places are data"});
        const Value exists = take_condition(kernel_, lanes_.axis);
        std::vector<VarId> inner = {lanes_.axis->var};
        if (between_) inner.push_back(between_->var);
        Body row = names_.add(
            kernel_, [&](const Value& node) { return is_even_along(kernel_, node, inner); });
        append(row, lane_loops(range));
        append(body, guarded(exists, std::move(row)));
        return body;
    }
    /// Where a load is contiguous along another axis than the lanes', that axis runs in blocks of
    /// as many points as there are lanes: squares that emitters transpose in registers.
    void find_transposed() {
        if (!lanes_.axis || lanes_.is_reduced_axis) return;
        transposed_ = transposed_axis(kernel_, *lanes_.axis, lanes_.lanes, target_);
        if (!transposed_) return;
        strip_ = kernel_.nest.add(Var{kernel_.nest.at(transposed_->var).name + "_strip"});
        squares_of_strip_ = choose_strip();
        *std::ranges::find(kernel_.free, *transposed_) = {
            strip_, std::max<std::int64_t>(
                        1, ceil_div(transposed_->extent / lanes_.lanes, squares_of_strip_))};
        schedule_.directives.push_back({"transpose",
                                        kernel_.nest.at(transposed_->var).name,
                                        {lanes_.lanes},
                                        "contiguous in an operand"});
    }

    void find_between() {
        if (kernel_.body || !lanes_.axis || transposed_) return;
        between_ = axis_between_lanes(kernel_, *lanes_.axis);
        if (!between_) return;
        schedule_.directives.push_back({"unroll",
                                        kernel_.nest.at(between_->var).name,
                                        {between_->extent},
                                        "points between those of neighbouring lanes"});
        std::erase(kernel_.free, *between_);
    }

    [[nodiscard]] std::int64_t choose_strip() const {
        const auto is_streamed = [](const Store& write) {
            return write.hint == StoreHint::streaming;
        };
        if (std::ranges::all_of(kernel_.writes, is_streamed) && has_short_vectors(target_))
            return streamed_squares_of_strip;
        std::int64_t bytes_of_square = 1;
        for (const Store& write : kernel_.writes) {
            const auto bytes = std::int64_t(size_bytes(kernel_.nest.at(write.buffer).dtype));
            const std::int64_t step = std::abs(write.at.affine.coefficient(transposed_->var));
            bytes_of_square = std::max(bytes_of_square, lanes_.lanes * bytes * step);
        }
        return std::clamp(near_bytes / bytes_of_square, least_squares_of_strip,
                          most_squares_of_strip);
    }

    /// Whole squares, then, after the last strip, the points that are left: as a narrow square, or
    /// one by one.
    Body transposed_loops(const AxisRange& range) {
        const std::int64_t lanes = lanes_.lanes;
        const std::int64_t whole = transposed_->extent / lanes;
        const std::int64_t strips = ceil_div(whole, squares_of_strip_);
        const std::int64_t left = transposed_->extent - whole * lanes;
        Body body;
        square_ = kernel_.nest.add(Var{kernel_.nest.at(transposed_->var).name + "_square"});
        square_point_ = kernel_.nest.add(Var{"p"});
        if (whole > 0) {
            square_start_ = form(strip_, squares_of_strip_ * lanes) + form(*square_, lanes);
            columns_ = lanes;
            body = lane_loops(range);
        }
        square_.reset();
        square_start_ = form(whole * lanes);
        columns_ = left;
        const bool is_square = left > 0 && points_in_squares(left, lanes, target_) > 0;
        Body rest;
        if (is_square) rest = lane_loops(range);
        square_point_.reset();
        if (!is_square && left > 0)
            rest.push_back(make_loop(transposed_->var, Bind::serial, bound(square_start_),
                                     bound(transposed_->extent), lane_loops(range)));
        const Value is_last = make_operation(
            Op::eq, {make_index(form(strip_)), make_integer(strips - 1)}, DType::boolean);
        append(body,
               strips <= 1 || left == 0 ? std::move(rest) : guarded(is_last, std::move(rest)));
        return body;
    }

    /// The full vectors, then the rest in masked ones.
    Body lane_loops(const AxisRange& range) {
        const std::int64_t extent = range.axis.extent;
        const std::int64_t width = lanes_.lanes * unroll_;
        const std::int64_t full = extent / width * width;
        Body body;
        if (full > 0) {
            AxisRange main = range;
            for (BoundTerm& term : main.upper)
                if (term.form.is_constant()) term.form = form(full);
            const auto vectors = [&](const AffineForm& start) {
                return point({lanes_.lanes, unroll_, {}}, start);
            };
            append(body, turns(name(range) + "0", main, width, vectors));
        }
        if (full < extent) {
            LoopBound lower = bound(full);
            if (!is_whole(range)) lower.insert(lower.begin(), range.lower[0]);
            // A reduction sums all that is left at once: chains of one would wait for each other.
            const std::int64_t vectors = kernel_.body ? ceil_div(extent - full, lanes_.lanes) : 1;
            const auto rest = [&](const AffineForm& start) {
                Lanes lanes{lanes_.lanes, vectors, {}};
                if ((extent - full) % lanes_.lanes != 0) lanes.limit = bound(form(extent) - start);
                return point(lanes, start);
            };
            append(body, make_turns(kernel_.nest, name(range) + "1", lower, range.upper,
                                    vectors * lanes_.lanes, rest));
        }
        return body;
    }
    /// Full vectors; of rows that are computed in part, by the span of each.
    Body turns(const std::string& name, const AxisRange& range, std::int64_t width,
               const std::function<Body(const AffineForm& start)>& vectors) {
        const bool is_plain = !between_ && !square_ && !square_point_;
        const auto span =
            is_plain ? lane_span(kernel_, range.axis, width) : std::optional<LaneSpan>();
        if (!span) return make_turns(kernel_.nest, name, range.lower, range.upper, width, vectors);
        const auto fill = [&](const AffineForm& start) {
            const auto writes = std::exchange(kernel_.writes, {span->otherwise});
            Body body = vectors(start);
            kernel_.writes = writes;
            return body;
        };
        return turns_in_span(kernel_, *span, name, range.lower, range.upper, width, vectors, fill);
    }
    [[nodiscard]] std::string name(const AxisRange& range) const {
        return kernel_.nest.at(range.axis.var).name;
    }

    /// Reduction and writes for the lanes that start at `start`.
    Body point(const Lanes& lanes, const AffineForm& start) {
        if (!kernel_.body) {
            Body body = over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                Substitution here = at(start + offset);
                return write_all(kernel_, here);
            });
            if (between_) {
                Body points;
                points.push_back(
                    make_loop(between_->var, Bind::unroll, between_->extent, std::move(body)));
                body = std::move(points);
            }
            if (!square_point_) return body;
            Body square;
            square.push_back(make_loop(*square_point_, Bind::unroll, columns_, std::move(body)));
            if (!square_) return square;
            const std::int64_t whole = transposed_->extent / lanes_.lanes;
            LoopBound end = bound(std::min(squares_of_strip_, whole));
            if (whole % squares_of_strip_ != 0 && whole > squares_of_strip_)
                end.push_back({form(whole) + form(strip_, -squares_of_strip_)});
            Body strip;
            strip.push_back(
                make_loop(*square_, Bind::serial, bound(0), std::move(end), std::move(square)));
            return strip;
        }
        const Lanes whole{lanes.lanes, lanes.unroll, mask_ ? LoopBound{} : lanes.limit};
        Body body = over_rows(
            whole, start, [&](Slot& slot) { return reset(kernel_, accumulator_, slot.element); });
        append(body, hold(whole, start));
        append(body, reduce(whole, start));
        append(body, over_rows(lanes, start, [&](Slot& slot) {
                   slot.here.replace_let(0, result(kernel_, accumulator_, slot.element));
                   return write_all(kernel_, slot.here);
               }));
        return guarded(kernel_.where ? at(start)(kernel_.where) : nullptr, std::move(body));
    }

    /// A lane of a row: its element of a row's accumulators, of all of them, and its point.
    struct Slot {
        AffineForm lane;
        AffineForm element;
        Substitution here;
    };
    Body over_rows(const Lanes& lanes, const AffineForm& start,
                   const std::function<Body(Slot& slot)>& body) {
        if (rows_ == 1) return over_row(std::nullopt, lanes, start, body);
        const VarId row = kernel_.nest.add(Var{"row"});
        Body rows;
        rows.push_back(make_loop(row, Bind::unroll, rows_, over_row(row, lanes, start, body)));
        return rows;
    }
    Body over_row(std::optional<VarId> row, const Lanes& lanes, const AffineForm& start,
                  const std::function<Body(Slot& slot)>& body) {
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& lane) {
            Slot slot{lane, lane, at(start + lane)};
            if (row) {
                slot.element = lane + form(*row, lanes.lanes * lanes.unroll);
                slot.here.replace(row_axis_.var, first_row_ + form(*row));
            }
            return body(slot);
        });
    }
    /// One point of all windows, written out: each row that has it, with its own weights.
    Body over_windows(const Lanes& lanes, const AffineForm& start,
                      const std::function<Body(Slot& slot)>& body) {
        const VarId row = kernel_.nest.add(Var{"row"});
        Substitution here = at(start);
        here.replace(row_axis_.var, form(row));
        Body step;
        std::vector<std::pair<Value, Value>> weights;
        for (const Value& weight : windows_->weights) {
            step.push_back(make_let(kernel_.next_let, here(weight)));
            weights.emplace_back(weight, make_let_value(kernel_.next_let++, weight->dtype));
        }
        append(step, over_row(row, lanes, start, [&](Slot& slot) {
                   for (const auto& [weight, name] : weights) slot.here.replace(weight, name);
                   return body(slot);
               }));
        Body all = load_lines(lanes, start);
        all.push_back(make_loop(row, Bind::unroll, rows_,
                                guarded(all_hold(windows_->inside, here), std::move(step))));
        Body points;
        points.push_back(make_loop(windows_->point.var, Bind::unroll, windows_->point.extent,
                                   guarded(all_hold(windows_->where, here), std::move(all))));
        return points;
    }

    Body reduce(const Lanes& lanes, const AffineForm& start) {
        Body body;
        const std::vector<std::pair<Value, Value>> named = name_shared(body);
        const auto add = [&](Slot& slot) {
            for (const auto& [load, name] : named) slot.here.replace(load, name);
            for (const Held& held : held_)
                slot.here.replace(held.load,
                                  make_load(kernel_.nest, held.registers, {slot.element}));
            for (const Held& line : lines_)
                slot.here.replace(line.load, make_load(kernel_.nest, line.registers, {slot.lane}));
            return where_summed(slot.lane, slot.here,
                                update(kernel_, accumulator_, slot.element, slot.here));
        };
        append(body, windows_ ? over_windows(lanes, start, add) : over_rows(lanes, start, add));
        std::vector<AxisRange> loops;
        const Substitution here = at(start);
        for (const ReducedLoop& loop : reduced_.loops)
            loops.push_back({loop.axis, here(loop.lower), here(loop.upper)});
        if (windows_) loops.pop_back();
        if (!mask_) {
            for (; rows_of_lanes_ && !loops.empty(); loops.pop_back())
                body = written_out(loops.back().axis, std::move(body));
            if (decides_masks(loops)) {
                body = written_out(loops.back().axis, std::move(body));
                loops.pop_back();
            }
            return wrap(loops, std::move(body));
        }
        const auto inner = loops.begin() + std::ptrdiff_t(masking_.outer_loops);
        Body masked = set_mask(lanes, start);
        if (masking_.are_constant) {
            append(masked, std::move(body));
            for (auto loop = loops.end(); loop != inner; --loop)
                masked = written_out((loop - 1)->axis, std::move(masked));
        } else {
            append(masked, wrap({inner, loops.end()}, std::move(body)));
        }
        return wrap({loops.begin(), inner}, std::move(masked));
    }
    static Body written_out(const Axis& axis, Body body) {
        Body copies;
        copies.push_back(make_loop(axis.var, Bind::unroll, axis.extent, std::move(body)));
        return copies;
    }

    /// The lane's part of a step, where that point is summed.
    Body where_summed(const AffineForm& lane, Substitution& here, Body body) {
        body = guarded(reduced_.test ? here(reduced_.test) : nullptr, std::move(body));
        return guarded(mask_ ? make_load(kernel_.nest, *mask_, {lane}) : nullptr, std::move(body));
    }
    /// What all rows share of a step.
    Body load_lines(const Lanes& lanes, const AffineForm& start) {
        Body body;
        for (const Held& line : lines_)
            append(body, over_lanes(kernel_.nest, lanes, [&](const AffineForm& lane) {
                       Substitution here = at(start + lane);
                       const auto store = [&](const Value& value) {
                           Body one;
                           one.push_back(make_store(line.registers, {lane}, value));
                           return one;
                       };
                       Body load = where_summed(lane, here, store(here(line.load)));
                       if (!mask_ && !reduced_.test) return load;
                       Body zero = store(make_number(line.load->dtype, 0));
                       append(zero, std::move(load));
                       return zero;
                   }));
        return body;
    }

    /// Whether the innermost loop has few points and decides which lanes of guarded reads are
    /// masked: unrolled, masks are constants.
    [[nodiscard]] bool decides_masks(const std::vector<AxisRange>& loops) const {
        if (!lanes_.axis || loops.empty() || !has_masked_stores(target_)) return false;
        const AxisRange& last = loops.back();
        return is_whole(last) && last.axis.extent <= most_constant_masks &&
               has_masks(kernel_.body, lanes_.axis->var, last.axis.var);
    }

    /// Lanes that no reduced loop moves are loaded once, before the loops.
    Body hold(const Lanes& lanes, const AffineForm& start) {
        Body body;
        for (const Held& held : held_)
            append(body, over_rows(lanes, start, [&](Slot& slot) {
                       Body load;
                       load.push_back(
                           make_store(held.registers, {slot.element}, slot.here(held.load)));
                       return load;
                   }));
        return body;
    }

    Body set_mask(const Lanes& lanes, const AffineForm& start) {
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            Body body;
            body.push_back(
                make_store(*mask_, {offset}, all_hold(masking_.at_least_zero, at(start + offset))));
            return body;
        });
    }
    /// Masked lanes: what all lanes and rows load is loaded before, outside the masks.
    std::vector<std::pair<Value, Value>> name_shared(Body& body) {
        std::vector<std::pair<Value, Value>> named;
        if (!mask_) return named;
        for_each_node({kernel_.body}, [&](const Value& value) {
            const auto* load = std::get_if<Load>(&value->term);
            if (load == nullptr || load->at.computed ||
                load->at.affine.coefficient(lanes_.axis->var) != 0 ||
                (rows_ > 1 && load->at.affine.coefficient(row_axis_.var) != 0) ||
                (windows_ && load->at.affine.coefficient(windows_->point.var) != 0) ||
                !is_inside_everywhere(kernel_, value))
                return;
            body.push_back(make_let(kernel_.next_let, value));
            named.emplace_back(value, make_let_value(kernel_.next_let++, value->dtype));
        });
        return named;
    }

    /// The lane axis at a place; every other axis is its own loop's variable.
    Substitution at(const AffineForm& place) const {
        Substitution here;
        names_.replace_in(here);
        if (inner_) here.replace(*inner_, place);
        if (square_point_) here.replace(transposed_->var, square_start_ + form(*square_point_));
        return here;
    }

    Kernel& kernel_;
    std::optional<VarId> inner_;  ///< the variable of the innermost loops
    NamedValues names_;           ///< before the lanes
    const LanePlan& lanes_;
    std::int64_t unroll_;
    const std::optional<Windows>& windows_;  ///< of the rows side by side
    const std::optional<RowsOfLanes>& rows_of_lanes_;
    const Target& target_;
    Schedule& schedule_;
    Accumulator accumulator_;
    ReducedLoops reduced_;
    /// A load that the reduced loops do not move, in registers.
    struct Held {
        Value load;
        BufferId registers{};
    };
    std::vector<Held> held_;
    LaneMasking masking_;
    std::optional<BufferId> mask_;
    std::vector<Held> lines_;  ///< what all rows share at a reduced point
    Axis row_axis_;            ///< has `rows_` points side by side, where these are more than one
    AffineForm first_row_;     ///< of a block of them
    std::int64_t rows_ = 1;
    std::optional<Axis> transposed_;  ///< runs in squares with the lanes
    std::optional<Axis> between_;     ///< written out around the lanes
    std::int64_t squares_of_strip_ = least_squares_of_strip;
    VarId strip_{};                      ///< the number of the strip of squares along it
    std::optional<VarId> square_;        ///< that of the square in the strip, while they are made
    std::optional<VarId> square_point_;  ///< the point inside the square, likewise
    AffineForm square_start_;            ///< its first point
    std::int64_t columns_ = 0;           ///< how many it has
};

}  // namespace

void lower_free_lanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                      const SharedLoads& shared, const Target& target, Schedule& schedule) {
    FreeLanes(kernel, lanes, unroll, shared, target, schedule).run();
}

}  // namespace ricci::codegen
