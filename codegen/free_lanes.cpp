// codegen/free_lanes.cpp – loops whose lanes run over a free axis
#include "codegen/free_lanes.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/integer.h"
#include "codegen/gathered_rows.h"
#include "codegen/guarded_reads.h"
#include "codegen/lane_steps.h"
#include "codegen/nest_walk.h"
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
/// Vectors of accumulators that hide the latency of a multiply-add, and use what rows share.
constexpr std::int64_t vectors_side_by_side = 8;
/// Points that scalar code writes in a turn of its loop: a loop of ten instructions took 0.40 or
/// 0.56 ns a turn, by where in a line of instructions it began; of eight points 0.36 each.
constexpr std::int64_t points_of_turn = 8;
constexpr std::int64_t least_unrolled_extent = 64;
constexpr double most_unrolled_cycles = 12;
/// Masks of a row that are known when code is made.
constexpr std::int64_t most_constant_masks = 16;

class FreeLanes {
  public:
    FreeLanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
              const std::vector<Value>& held, const Target& target, Schedule& schedule)
        : kernel_(kernel), lanes_(lanes), unroll_(unroll), target_(target), schedule_(schedule) {
        if (lanes.axis) inner_ = lanes.axis->var;
        if (!kernel.body) return;
        if (lanes.is_masked) mask_lanes();
        put_side_by_side();
        accumulator_ = make_accumulator(kernel, rows_ * lanes.lanes * unroll);
        const std::int64_t lanes_of_row = lanes.lanes * unroll;
        if (lanes.is_masked)
            mask_ = add_registers(kernel.nest, "mask", DType::boolean, lanes_of_row);
        for (const Value& load : held)
            held_.push_back(
                {load, add_registers(kernel.nest, "held", load->dtype, rows_ * lanes_of_row)});
    }

    void run() {
        find_transposed();
        TaskSplit split =
            split_free_axes(kernel_, lanes_.axis, lanes_.lanes * unroll_, lanes_.cycles);
        describe(split);
        Body names = name_even();
        Body body;
        if (lanes_.axis) {
            const AxisRange range = split.loops.back();
            split.loops.pop_back();
            body = transposed_ ? transposed_loops(range) : row_loops(split, range);
        } else if (kernel_.body) {
            body = point(Lanes{}, form(0));
        } else {
            body = scalar_loops(split);
        }
        append(names, wrap(split.loops, std::move(body)));
        kernel_.nest.body = parallel(split, std::move(names));
    }

  private:
    void describe(const TaskSplit& split) {
        const Nest& nest = kernel_.nest;
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        if (!lanes_.axis) {
            schedule_.directives.push_back({"scalar", "", {}, "no axis can run in lanes"});
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
                                            "vectors that accumulate side by side"});
        if (rows_ > 1)
            schedule_.directives.push_back(
                {"unroll", nest.at(row_axis_.var).name, {rows_}, "points that share loads"});
        if (lanes_.is_masked)
            schedule_.directives.push_back({"mask",
                                            nest.at(lanes_.axis->var).name,
                                            {},
                                            "which points are summed moves with the lanes"});
    }

    /// Conditions that move with the lanes become masks; what they leave to the loops is what holds
    /// for some lane. The longest axis that does not change the mask runs innermost.
    void mask_lanes() {
        const VarId lane = lanes_.axis->var;
        for (AffineForm& condition : kernel_.conditions.at_least_zero) {
            const std::int64_t step = condition.coefficient(lane);
            if (step == 0) continue;
            lane_conditions_.push_back(condition);
            if (step > 0) condition.constant += step * (lanes_.lanes * unroll_ - 1);
        }
        const auto changes_mask = [&](const Axis& axis) {
            return std::ranges::any_of(lane_conditions_, [&](const AffineForm& condition) {
                return condition.coefficient(axis.var) != 0;
            });
        };
        lane_conditions_.push_back(form(lanes_.axis->extent - 1) - form(lane));
        if (make_masks_constant(changes_mask)) return;
        auto& order = kernel_.reduced;
        auto inner = order.end();
        for (auto axis = order.begin(); axis != order.end(); ++axis)
            if (!changes_mask(*axis) && (inner == order.end() || axis->extent >= inner->extent))
                inner = axis;
        if (inner != order.end()) std::rotate(inner, inner + 1, order.end());
        while (outer_loops_ < order.size() &&
               std::any_of(order.begin() + std::ptrdiff_t(outer_loops_), order.end(), changes_mask))
            ++outer_loops_;
    }

    /// Where there are few masks, of one block of lanes, the loops that change them are unrolled,
    /// innermost: what is tested is known then. The longest other loop is next to them.
    bool make_masks_constant(const std::function<bool(const Axis&)>& changes_mask) {
        auto& order = kernel_.reduced;
        std::vector<Axis> masking;
        std::ranges::copy_if(order, std::back_inserter(masking), changes_mask);
        const auto moves = [&](const AffineForm& condition) {
            return std::ranges::any_of(
                masking, [&](const Axis& axis) { return condition.coefficient(axis.var) != 0; });
        };
        const auto is_known = [&](const AffineForm& condition) {
            return condition.coefficient(lanes_.axis->var) != 0 &&
                   std::ranges::all_of(condition.terms, [&](const AffineForm::Term& term) {
                       return term.var == lanes_.axis->var || moves(form(term.var));
                   });
        };
        auto& conditions = kernel_.conditions;
        if (lanes_.axis->extent > lanes_.lanes * unroll_ || points(masking) > most_constant_masks ||
            std::ranges::any_of(conditions.equal_zero, moves) ||
            std::ranges::any_of(conditions.at_least_zero, [&](const AffineForm& condition) {
                return moves(condition) && !is_known(condition);
            }))
            return false;
        const std::pair written{conditions, order};
        std::erase_if(conditions.at_least_zero, moves);
        std::ranges::stable_partition(order, std::not_fn(changes_mask));
        outer_loops_ = order.size() - masking.size();
        const auto outer = order.begin() + std::ptrdiff_t(outer_loops_);
        const auto inner = std::max_element(order.begin(), outer, [](const Axis& a, const Axis& b) {
            return a.extent <= b.extent;
        });
        if (inner != outer) std::rotate(inner, inner + 1, outer);
        // What else is asked, of other axes alone, may have become a bound of these loops.
        const std::vector<ReducedLoop> loops = reduced_loops(kernel_, order).loops;
        has_constant_masks_ = std::all_of(
            loops.begin() + std::ptrdiff_t(outer_loops_), loops.end(),
            [](const ReducedLoop& each) { return is_whole({each.axis, each.lower, each.upper}); });
        if (!has_constant_masks_) {
            std::tie(conditions, order) = written;
            outer_loops_ = 0;
        }
        return has_constant_masks_;
    }

    /// Few vectors along the lanes' axis are summed for several points of another one, which share
    /// loads and masks. Chooses that axis: what is summed must not depend on it.
    void put_side_by_side() {
        reduced_ = reduced_loops(kernel_, kernel_.reduced);
        if (!lanes_.axis || lanes_.is_reduced_axis || kernel_.is_arg_reduction()) return;
        const std::int64_t most = vectors_side_by_side / unroll_;
        int most_shared = 0;  // loads of vectors are dearer than of scalars
        Axis* chosen = nullptr;
        const std::vector<Touch> all =
            touches(has_masked_stores(target_) ? with_plain_reads(kernel_) : kernel_);
        for (Axis& axis : kernel_.free) {
            if (axis == *lanes_.axis || kernel_.collides(axis.var) || moves_bounds(axis) ||
                divisor_up_to(axis.extent, most) < 2)
                continue;
            int shared = 0;
            for (const Touch& touch : all)
                if (touch.is_reduced && !touch.is_computed &&
                    touch.address.coefficient(axis.var) == 0)
                    shared += touch.address.coefficient(lanes_.axis->var) == 0 ? 1 : 2;
            if (shared <= most_shared) continue;
            most_shared = shared;
            chosen = &axis;
        }
        if (chosen == nullptr) return;
        row_axis_ = *chosen;
        rows_ = divisor_up_to(chosen->extent, most);
        row_block_ = kernel_.nest.add(Var{kernel_.nest.at(chosen->var).name + "_rows"});
        *chosen = {row_block_, chosen->extent / rows_};
    }
    [[nodiscard]] bool moves_bounds(const Axis& axis) const {
        return moves_with(reduced_, axis.var) ||
               std::ranges::any_of(lane_conditions_, [&](const AffineForm& condition) {
                   return condition.coefficient(axis.var) != 0;
               });
    }
    static std::int64_t divisor_up_to(std::int64_t extent, std::int64_t most) {
        while (most > 1 && extent % most != 0) --most;
        return most;
    }

    /// Values that are the same at all points have their name before the loops.
    Body name_even() {
        return name_values([&](const Value& node) { return is_even(node); });
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
        Body row = name_values([&](const Value& node) { return is_of_row(node); });
        append(row, lane_loops(range));
        append(body, guarded(exists, std::move(row)));
        return body;
    }
    /// Points one after the other, as of updates that may meet; of short ones several a turn.
    Body scalar_loops(TaskSplit& split) {
        const Value exists = take_condition(kernel_, lanes_.axis);
        const auto write = [&](const AffineForm& place) {
            Substitution here = at(place);
            return guarded(exists ? here(exists) : nullptr, write_all(kernel_, here));
        };
        const bool is_long = !split.loops.empty() && split.loops.back().lower[0].form == form(0) &&
                             split.loops.back().axis.extent >= least_unrolled_extent;
        if (!is_long || write_cost(kernel_) > most_unrolled_cycles) return write(form(0));
        const Axis axis = split.loops.back().axis;
        split.loops.pop_back();
        inner_ = axis.var;
        const VarId start = kernel_.nest.add(Var{kernel_.nest.at(axis.var).name + "0"});
        const std::int64_t full = axis.extent / points_of_turn * points_of_turn;
        Body body;
        body.push_back(make_loop(
            start, Bind::serial, bound(0), bound(full),
            over_lanes(kernel_.nest, {1, points_of_turn, {}},
                       [&](const AffineForm& offset) { return write(form(start) + offset); }),
            points_of_turn));
        if (full < axis.extent)
            body.push_back(make_loop(axis.var, Bind::serial, bound(full), bound(axis.extent),
                                     write(form(axis.var))));
        return body;
    }
    Body name_values(const std::function<bool(const Value&)>& is_chosen) {
        Body body;
        std::unordered_set<const ValueNode*> seen;
        for (const auto& [value, name] : named_) seen.insert(value.get());
        const std::function<void(const Value&)> visit = [&](const Value& node) {
            if (!node || !seen.insert(node.get()).second) return;
            if (!is_chosen(node)) {
                for (const Value& operand : operands(node)) visit(operand);
                return;
            }
            if (operands(node).empty() && !std::holds_alternative<Load>(node->term)) return;
            Substitution named;
            for (const auto& [value, name] : named_) named.replace(value, name);
            const std::vector<Value> value = share(body, {named(node)}, kernel_.next_let);
            body.push_back(make_let(kernel_.next_let, value[0]));
            named_.emplace_back(node, make_let_value(kernel_.next_let++, node->dtype));
        };
        visit(kernel_.body);
        for (const Store& write : kernel_.writes) {
            visit(write.value);
            visit(write.at.computed);
        }
        return body;
    }
    [[nodiscard]] bool is_even(const Value& root) const {
        bool is_even = is_inside_everywhere(kernel_, root);
        for_each_node({root}, [&](const Value& node) {
            if (const auto* load = std::get_if<Load>(&node->term))
                is_even &=
                    load->at.affine.is_constant() && !kernel_.nest.at(load->buffer).is_written;
            if (const auto* var = std::get_if<VarValue>(&node->term))
                is_even &= var->form.is_constant();
            is_even &= !std::holds_alternative<LetValue>(node->term);
        });
        return is_even;
    }

    /// The same for all lanes.
    [[nodiscard]] bool is_of_row(const Value& root) const {
        bool is_of_row = is_inside_everywhere(kernel_, root) && !depends_on(root, lanes_.axis->var);
        for_each_node({root}, [&](const Value& node) {
            if (const auto* load = std::get_if<Load>(&node->term))
                is_of_row &= !kernel_.nest.at(load->buffer).is_written;
        });
        return is_of_row;
    }

    /// Where a load is contiguous along another axis than the lanes', that axis runs in blocks of
    /// as many points as there are lanes: squares that emitters transpose in registers.
    void find_transposed() {
        if (kernel_.body || !lanes_.axis || lanes_.is_reduced_axis || lanes_.lanes < 4) return;
        for (Axis& axis : kernel_.free) {
            if (axis == *lanes_.axis || axis.extent < lanes_.lanes) continue;
            if (kernel_.collides(axis.var)) continue;
            const std::vector<Touch> all = touches(kernel_);
            const bool is_far = std::ranges::any_of(all, [&](const Touch& touch) {
                const std::int64_t step = touch.address.coefficient(lanes_.axis->var);
                return !touch.is_store && !touch.is_computed && step != 0 && step != 1 &&
                       touch.address.coefficient(axis.var) == 1;
            });
            if (!is_far) continue;
            transposed_ = axis;
            strip_ = kernel_.nest.add(Var{kernel_.nest.at(axis.var).name + "_strip"});
            squares_of_strip_ = choose_strip();
            axis = {strip_, ceil_div(axis.extent / lanes_.lanes, squares_of_strip_)};
            schedule_.directives.push_back({"transpose",
                                            kernel_.nest.at(transposed_->var).name,
                                            {lanes_.lanes},
                                            "contiguous in an operand"});
            return;
        }
    }

    [[nodiscard]] std::int64_t choose_strip() const {
        std::int64_t bytes_of_square = 1;
        for (const Store& write : kernel_.writes) {
            const auto bytes = std::int64_t(size_bytes(kernel_.nest.at(write.buffer).dtype));
            const std::int64_t step = std::abs(write.at.affine.coefficient(transposed_->var));
            bytes_of_square = std::max(bytes_of_square, lanes_.lanes * bytes * step);
        }
        return std::clamp(near_bytes / bytes_of_square, least_squares_of_strip,
                          most_squares_of_strip);
    }

    /// Whole squares, then, after the last strip, the points that are left one by one.
    Body transposed_loops(const AxisRange& range) {
        const std::int64_t whole = transposed_->extent / lanes_.lanes;
        const std::int64_t strips = ceil_div(whole, squares_of_strip_);
        square_ = kernel_.nest.add(Var{kernel_.nest.at(transposed_->var).name + "_square"});
        square_point_ = kernel_.nest.add(Var{"p"});
        Body body = lane_loops(range);
        square_.reset();
        square_point_.reset();
        if (whole * lanes_.lanes == transposed_->extent) return body;
        const Value is_last = make_operation(
            Op::eq, {make_index(form(strip_)), make_integer(strips - 1)}, DType::boolean);
        Body rest;
        rest.push_back(make_loop(transposed_->var, Bind::serial, bound(form(whole * lanes_.lanes)),
                                 bound(transposed_->extent), lane_loops(range)));
        append(body, strips == 1 ? std::move(rest) : guarded(is_last, std::move(rest)));
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
            append(body, make_turns(kernel_.nest, name(range) + "0", main.lower, main.upper, width,
                                    vectors));
        }
        if (full < extent) {
            LoopBound lower = bound(full);
            if (!is_whole(range)) lower.insert(lower.begin(), range.lower[0]);
            // Masked lanes sum all that is left at once.
            const std::int64_t vectors =
                lanes_.is_masked ? ceil_div(extent - full, lanes_.lanes) : 1;
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
            if (!square_point_) return body;
            Body square;
            square.push_back(
                make_loop(*square_point_, Bind::unroll, lanes_.lanes, std::move(body)));
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
        return body;
    }

    /// A lane of a row: its element of a row's accumulators, of all of them, and its point.
    struct Slot {
        AffineForm lane;
        AffineForm element;
        Substitution here;
    };
    Body over_rows(const Lanes& lanes, const AffineForm& start,
                   const std::function<Body(Slot& slot)>& body) {
        std::optional<VarId> row;
        if (rows_ > 1) row = kernel_.nest.add(Var{"row"});
        Body inner = over_lanes(kernel_.nest, lanes, [&](const AffineForm& lane) {
            Slot slot{lane, lane, at(start + lane)};
            if (row) {
                slot.element = lane + form(*row, lanes.lanes * lanes.unroll);
                slot.here.replace(row_axis_.var, form(row_block_, rows_) + form(*row));
            }
            return body(slot);
        });
        if (!row) return inner;
        Body rows;
        rows.push_back(make_loop(*row, Bind::unroll, rows_, std::move(inner)));
        return rows;
    }

    Body reduce(const Lanes& lanes, const AffineForm& start) {
        Body body;
        const std::vector<std::pair<Value, Value>> named = name_shared(body);
        append(body, over_rows(lanes, start, [&](Slot& slot) {
                   for (const auto& [load, name] : named) slot.here.replace(load, name);
                   for (const Held& held : held_)
                       slot.here.replace(held.load,
                                         make_load(kernel_.nest, held.registers, {slot.element}));
                   const Value test = reduced_.test ? slot.here(reduced_.test) : nullptr;
                   Body sum = guarded(test, update(kernel_, accumulator_, slot.element, slot.here));
                   if (!mask_) return sum;
                   return guarded(make_load(kernel_.nest, *mask_, {slot.lane}), std::move(sum));
               }));
        std::vector<AxisRange> loops;
        const Substitution here = at(start);
        for (const ReducedLoop& loop : reduced_.loops)
            loops.push_back({loop.axis, here(loop.lower), here(loop.upper)});
        if (!mask_) {
            if (decides_masks(loops)) {
                Body copies;
                const Axis& axis = loops.back().axis;
                copies.push_back(make_loop(axis.var, Bind::unroll, axis.extent, std::move(body)));
                body = std::move(copies);
                loops.pop_back();
            }
            return wrap(loops, std::move(body));
        }
        const auto inner = loops.begin() + std::ptrdiff_t(outer_loops_);
        Body masked = set_mask(lanes, start);
        if (has_constant_masks_) {
            append(masked, std::move(body));
            for (auto loop = loops.end(); loop != inner; --loop) {
                Body copies;
                const Axis& axis = (loop - 1)->axis;
                copies.push_back(make_loop(axis.var, Bind::unroll, axis.extent, std::move(masked)));
                masked = std::move(copies);
            }
        } else {
            append(masked, wrap({inner, loops.end()}, std::move(body)));
        }
        return wrap({loops.begin(), inner}, std::move(masked));
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
                make_store(*mask_, {offset}, all_hold(lane_conditions_, at(start + offset))));
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
        for (const auto& [value, name] : named_) here.replace(value, name);
        if (inner_) here.replace(*inner_, place);
        if (square_point_)
            here.replace(transposed_->var, form(strip_, squares_of_strip_ * lanes_.lanes) +
                                               form(*square_, lanes_.lanes) + form(*square_point_));
        return here;
    }

    Kernel& kernel_;
    std::optional<VarId> inner_;                  ///< the variable of the innermost loops
    std::vector<std::pair<Value, Value>> named_;  ///< before the lanes, with their names
    const LanePlan& lanes_;
    std::int64_t unroll_;
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
    std::vector<AffineForm> lane_conditions_;  ///< at least zero at the lanes that are summed
    std::size_t outer_loops_ = 0;              ///< reduced loops outside the mask
    bool has_constant_masks_ = false;          ///< the others are unrolled, each with its own
    std::optional<BufferId> mask_;
    Axis row_axis_;      ///< has `rows_` points side by side, where these are more than one
    VarId row_block_{};  ///< their number
    std::int64_t rows_ = 1;
    std::optional<Axis> transposed_;  ///< runs in squares with the lanes
    std::int64_t squares_of_strip_ = least_squares_of_strip;
    VarId strip_{};                      ///< the number of the strip of squares along it
    std::optional<VarId> square_;        ///< that of the square in the strip, while they are made
    std::optional<VarId> square_point_;  ///< the point inside the square, likewise
};

}  // namespace

void lower_free_lanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                      const std::vector<Value>& held, const Target& target, Schedule& schedule) {
    FreeLanes(kernel, lanes, unroll, held, target, schedule).run();
}

}  // namespace ricci::codegen
