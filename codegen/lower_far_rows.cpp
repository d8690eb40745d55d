// codegen/lower_far_rows.cpp – sums of long rows that stand far apart: several rows at a time
//
// Sums of columns, `s[j] := sum[i](A[i,j])`, read each row in pieces as wide as registers hold
// sums, and every piece stands in a page of its own: hardware asks for nothing in time. Here
// the sums of a wide piece stand in the first-level cache, and each is loaded and stored once for
// several rows. Of 64 MB, 4096 x 4096: 1.65 ms in pieces of 1 KiB, 1.25 of 4 KiB and eight rows; on
// Zen 3 2.3 ms of 4 KiB, 1.9 of 16, four pages that follow each other.
//
// So are sums of which another operand stands along the rows, as that of `s[i] := A[i,k]*B[k,i]`:
// squares of as many rows as lanes, which emitters transpose in registers. A full sum of the kind,
// the trace of a product, becomes one of columns first.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/integer.h"
#include "codegen/kernel_work.h"
#include "codegen/lane_steps.h"
#include "codegen/lower.h"
#include "codegen/nest_walk.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Of sums in the first-level cache: half of one of 32 KiB.
constexpr std::int64_t piece_bytes = 16 << 10;
/// Registers hold the sums of shorter rows: 4000 rows of 4000 bytes took 0.27 ms in pieces of 256.
constexpr std::int64_t least_row_bytes = 2 << 10;
constexpr std::int64_t rows_at_once = 8;
/// Vectors whose additions overlap.
constexpr std::int64_t vectors_side_by_side = 2;
/// Of rows that are left over each takes a turn of its own: 23 rows of 2 MB took 1.5 times as long
/// as in narrow pieces, 127 of 0.4 MB the same.
constexpr std::int64_t enough_rows = 96;
/// For so many threads at least.
constexpr std::int64_t least_tasks = 4;
/// Of columns: one function and some arithmetic. With two of them what is computed takes longer
/// than what is read, and code for eight rows long to compile.
constexpr double most_cycles = 30;
/// Squares side by side along what is transposed: a line of it is read from one page for all.
constexpr std::int64_t squares_of_strip = 4;
/// Of sums of squares. Of 64 MB each, 4096 x 4096: 6.8 ms in pieces of 1 KiB, 8.5 of 4 KiB.
constexpr std::int64_t squares_piece_bytes = 1 << 10;

bool has_enough_rows(std::int64_t rows) {
    return rows >= enough_rows || (rows >= 4 * rows_at_once && rows % rows_at_once == 0);
}

/// Columns whose results, of the type that is summed in, are a piece.
std::int64_t columns_of_piece(const Kernel& kernel, bool has_squares) {
    return (has_squares ? squares_piece_bytes : piece_bytes) /
           std::int64_t(size_bytes(kernel.body->dtype));
}
/// Those of pieces of equal size.
std::int64_t width_of_piece(const Kernel& kernel, const LanePlan& lanes, bool has_squares) {
    const std::int64_t columns = lanes.axis->extent;
    const std::int64_t pieces = ceil_div(columns, columns_of_piece(kernel, has_squares));
    const std::int64_t step = lanes.lanes * vectors_side_by_side;
    return ceil_div(ceil_div(columns, pieces), step) * step;
}

/// Loads, and what floating operations make of them, that are the same in all columns: each as
/// large as may be. Computed where they may not be needed, they do no harm.
std::vector<Value> values_of_row(const Value& root, VarId column) {
    std::vector<Value> found;
    std::vector<Value> open{root};
    std::unordered_set<const ValueNode*> seen;
    while (!open.empty()) {
        const Value value = open.back();
        open.pop_back();
        if (!seen.insert(value.get()).second) continue;
        const bool may_be_early =
            std::holds_alternative<Load>(value->term) ||
            (std::holds_alternative<Operate>(value->term) && is_floating(value->dtype));
        if (may_be_early && !depends_on(value, column))
            found.push_back(value);
        else
            std::ranges::copy(operands(value), std::back_inserter(open));
    }
    return found;
}

/// As `body_cost` estimates it, but for what is the same in all columns.
double cost_of_columns(const Kernel& kernel, VarId column) {
    return body_cost(kernel) - cost(values_of_row(kernel.body, column));
}

class FarRows {
  public:
    /// Along `squares`, where there is such an axis, rows are taken in squares.
    FarRows(Kernel& kernel, const LanePlan& lanes, std::optional<Axis> squares, Schedule& schedule)
        : kernel_(kernel),
          schedule_(schedule),
          columns_(*lanes.axis),
          squares_(std::move(squares)),
          lanes_(lanes.lanes),
          unroll_(squares_ ? 1 : vectors_side_by_side),
          cycles_(lanes.cycles),
          width_(width_of_piece(kernel, lanes, squares_.has_value())),
          sums_{*kernel.reducer, add_scratch(kernel.nest, "sums", kernel.body->dtype, width_), {}},
          line_{*kernel.reducer,
                add_registers(kernel.nest, "line", kernel.body->dtype, lanes_ * unroll_),
                {}} {}

    void run() {
        TaskSplit split = split_free_axes(kernel_, columns_, width_, cycles_);
        describe(split);
        const AxisRange range = split.loops.back();
        split.loops.pop_back();
        start_ = kernel_.nest.add(Var{name(columns_) + "0"});
        Body body;
        body.push_back(make_loop(start_, Bind::serial, range.lower, range.upper, piece(), width_));
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
    }

  private:
    void describe(const TaskSplit& split) {
        schedule_.directives.push_back(
            {"parallel", "", {split.tasks}, "tasks of some 0.05 ms, by extents alone"});
        schedule_.directives.push_back(
            {"vector", name(columns_), {lanes_}, "cheapest loads and stores"});
        schedule_.directives.push_back(
            {"block", name(columns_), {width_}, "results in the first-level cache"});
        schedule_.directives.push_back(
            squares_
                ? Directive{"unroll", name(*squares_), {lanes_}, "squares are transposed"}
                : Directive{
                      "unroll", name(kernel_.reduced.back()), {rows_at_once}, "rows far apart"});
    }

    /// The results from `start_` on.
    Body piece() {
        Body body = over_piece([&](const Lanes& lanes, const AffineForm& first) {
            return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                return reset(kernel_, sums_, first + offset);
            });
        });
        append(body, squares_ ? reduce_squares() : reduce_rows());
        append(body, over_piece([&](const Lanes& lanes, const AffineForm& first) {
                   return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                       Substitution here = at(first + offset);
                       here.replace_let(0, result(kernel_, sums_, first + offset));
                       return write_all(kernel_, here);
                   });
               }));
        return body;
    }

    /// Code for all vectors of the piece, the last one masked; `make` gets where they start in it.
    Body over_piece(const std::function<Body(const Lanes& lanes, const AffineForm& first)>& make) {
        const std::int64_t step = lanes_ * unroll_;
        const std::int64_t full = columns_.extent / step * step;
        const auto up_to = [&](std::int64_t column) {
            LoopBound end = bound(width_);
            if (columns_.extent % width_ != 0) end.push_back({form(column) - form(start_)});
            return end;
        };
        Body body;
        const auto loop = [&](LoopBound lower, LoopBound upper, Lanes lanes) {
            const VarId first = kernel_.nest.add(Var{name(columns_) + "1"});
            const std::int64_t columns = lanes.lanes * lanes.unroll;
            if (!lanes.limit.empty())
                lanes.limit = bound(form(columns_.extent) - form(start_) - form(first));
            body.push_back(make_loop(first, Bind::serial, std::move(lower), std::move(upper),
                                     make(lanes, form(first)), columns));
        };
        loop(bound(0), up_to(full), {lanes_, unroll_, {}});
        if (full < columns_.extent)
            loop({{form(0)}, {form(full) - form(start_)}}, up_to(columns_.extent),
                 {lanes_, 1, bound(0)});
        return body;
    }

    /// Strips of squares along their axis, then what fills no square.
    Body reduce_squares() {
        std::vector<AxisRange> outer;
        for (const ReducedLoop& loop : reduced_loops_along(kernel_, *squares_).loops)
            outer.push_back({loop.axis, loop.lower, loop.upper});
        outer.pop_back();
        const std::int64_t whole = squares_->extent / lanes_ * lanes_;
        const VarId first = kernel_.nest.add(Var{name(*squares_) + "0"});
        Body body;
        body.push_back(make_loop(first, Bind::serial, bound(0), bound(whole),
                                 over_piece([&](const Lanes& lanes, const AffineForm& column) {
                                     return strip(lanes, column, first, whole);
                                 }),
                                 squares_of_strip * lanes_));
        if (whole < squares_->extent)
            body.push_back(
                make_loop(squares_->var, Bind::serial, bound(whole), bound(squares_->extent),
                          over_piece([&](const Lanes& lanes, const AffineForm& column) {
                              return on_line(lanes, column, add_row(lanes, column, Substitution{}));
                          })));
        return wrap(outer, std::move(body));
    }
    /// The squares from place `first` on, for a vector of columns.
    Body strip(const Lanes& lanes, const AffineForm& column, VarId first, std::int64_t whole) {
        const VarId square = kernel_.nest.add(Var{name(*squares_) + "_square"});
        const VarId point = kernel_.nest.add(Var{"p"});
        Substitution row;
        row.replace(squares_->var, form(first) + form(square) + form(point));
        Body points;
        points.push_back(make_loop(point, Bind::unroll, lanes_, add_row(lanes, column, row)));
        LoopBound end = bound(squares_of_strip * lanes_);
        end.push_back({form(whole) - form(first)});
        Body squares;
        squares.push_back(
            make_loop(square, Bind::serial, bound(0), std::move(end), std::move(points), lanes_));
        return on_line(lanes, column, std::move(squares));
    }

    /// As many rows at once as are left, or one.
    Body reduce_rows() {
        const ReducedLoops reduced = reduced_loops(kernel_, kernel_.reduced);
        std::vector<AxisRange> outer;
        for (const ReducedLoop& loop : reduced.loops)
            outer.push_back({loop.axis, loop.lower, loop.upper});
        const AxisRange rows = outer.back();
        outer.pop_back();
        const VarId first = kernel_.nest.add(Var{name(rows.axis) + "0"});
        std::vector<AffineForm> beyond;
        for (const BoundTerm& term : rows.upper)
            beyond.push_back(term.form - form(first) - form(rows_at_once));
        const Value are_whole = all_hold(beyond, {});
        Body body = guarded(are_whole, add_rows(form(first), rows_at_once));
        Body rest;
        rest.push_back(make_loop(rows.axis.var, Bind::serial, bound(form(first)), rows.upper,
                                 add_rows(form(rows.axis.var), 1)));
        append(body, guarded(make_operation(Op::logical_not, {are_whole}, DType::boolean),
                             std::move(rest)));
        Body loop;
        loop.push_back(
            make_loop(first, Bind::serial, rows.lower, rows.upper, std::move(body), rows_at_once));
        return wrap(outer, std::move(loop));
    }

    /// So many rows from `first_row` on. What is the same in all columns is loaded before, also
    /// where it may not be needed: every place of a bound program is inside.
    Body add_rows(const AffineForm& first_row, std::int64_t count) {
        Body body;
        const std::vector<Value> same = values_of_row(kernel_.body, columns_.var);
        std::vector<Substitution> rows;
        for (std::int64_t row = 0; row < count; ++row) {
            Substitution here;
            here.replace(kernel_.reduced.back().var, first_row + form(row));
            for (const Value& value : same) {
                body.push_back(make_let(kernel_.next_let, here(value)));
                here.replace(value, make_let_value(kernel_.next_let++, value->dtype));
            }
            rows.push_back(std::move(here));
        }
        append(body, over_piece([&](const Lanes& lanes, const AffineForm& first) {
                   Body all;
                   for (const Substitution& row : rows) append(all, add_row(lanes, first, row));
                   return on_line(lanes, first, std::move(all));
               }));
        return body;
    }
    /// One row's part of the line, of the columns from `first` of the piece on.
    Body add_row(const Lanes& lanes, const AffineForm& first, const Substitution& row) {
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            Substitution here = row;
            here.replace(columns_.var, form(start_) + first + offset);
            return update(kernel_, line_, offset, here);
        });
    }
    /// What works on a line of sums, which are loaded before and stored behind it.
    Body on_line(const Lanes& lanes, const AffineForm& first, Body work) {
        Body body = move(lanes, [&](const AffineForm& offset) {
            return make_store(line_.value, {offset},
                              make_load(kernel_.nest, sums_.value, {first + offset}));
        });
        append(body, std::move(work));
        append(body, move(lanes, [&](const AffineForm& offset) {
                   return make_store(sums_.value, {first + offset},
                                     make_load(kernel_.nest, line_.value, {offset}));
               }));
        return body;
    }
    Body move(const Lanes& lanes, const std::function<Stmt(const AffineForm& offset)>& store) {
        return over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            Body body;
            body.push_back(store(offset));
            return body;
        });
    }

    /// The columns' axis at a place of the piece.
    [[nodiscard]] Substitution at(const AffineForm& place) const {
        Substitution here;
        here.replace(columns_.var, form(start_) + place);
        return here;
    }
    [[nodiscard]] std::string name(const Axis& axis) const {
        return kernel_.nest.at(axis.var).name;
    }

    Kernel& kernel_;
    Schedule& schedule_;
    Axis columns_;
    std::optional<Axis> squares_;
    std::int64_t lanes_;
    std::int64_t unroll_;
    double cycles_;
    std::int64_t width_;
    Accumulator sums_;
    Accumulator line_;
    VarId start_{};
};

/// Whether rows of an operand beyond the caches are long, and stand apart along the last reduced
/// axis.
bool reads_far_rows(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    const std::vector<Touch> all = touches(kernel);
    return std::ranges::any_of(all, [&](const Touch& touch) {
        const Buffer& buffer = kernel.nest.at(touch.buffer);
        const auto bytes = std::int64_t(size_bytes(buffer.dtype));
        return touch.is_reduced && touch.address.coefficient(lanes.axis->var) == 1 &&
               std::abs(touch.address.coefficient(kernel.reduced.back().var)) * bytes >=
                   least_row_bytes &&
               buffer.elements * bytes > 4 * target.l2_bytes;
    });
}

bool may_be_far_rows(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    return lanes.axis->extent * std::int64_t(size_bytes(kernel.body->dtype)) >= least_row_bytes &&
           has_enough_rows(kernel.reduced.back().extent) && reads_far_rows(kernel, lanes, target);
}

}  // namespace

std::optional<Axis> axis_of_squares(const Kernel& kernel, const Axis& lane, std::int64_t lanes) {
    if (!kernel.body || kernel.is_arg_reduction() || !kernel.colliding.empty() ||
        !kernel.conditions.is_empty() || lanes < least_square || lane.extent < lanes ||
        cost_of_columns(kernel, lane.var) > most_cycles)
        return std::nullopt;
    std::vector<Value> far;
    bool has_near = false;
    for_each_node({kernel.body}, [&](const Value& value) {
        const auto* load = std::get_if<Load>(&value->term);
        if (load == nullptr || load->at.computed) return;
        const std::int64_t step = std::abs(load->at.affine.coefficient(lane.var));
        has_near |= step == 1;
        if (step > longest_short_step && !kernel.nest.at(load->buffer).is_written)
            far.push_back(value);
    });
    if (!has_near) return std::nullopt;
    for (const Axis& axis : kernel.reduced)
        if (axis.extent >= 2 * lanes && std::ranges::any_of(far, [&](const Value& load) {
                return std::get<Load>(load->term).at.affine.coefficient(axis.var) == 1 &&
                       is_inside_everywhere(kernel, load);
            }))
            return axis;
    return std::nullopt;
}

bool lower_far_rows(const Kernel& kernel, const LanePlan& lanes, PlanBuilder& builder,
                    Splitting splitting) {
    if (!lanes.axis || lanes.is_reduced_axis || lanes.is_masked || lanes.lanes < 2 ||
        kernel.is_arg_reduction() || !kernel.colliding.empty() || kernel.reduced.empty() ||
        cost_of_columns(kernel, lanes.axis->var) > most_cycles)
        return false;
    const std::optional<Axis> squares = axis_of_squares(kernel, *lanes.axis, lanes.lanes);
    if (!squares && !may_be_far_rows(kernel, lanes, builder.target())) return false;
    const ReducedLoops loops = reduced_loops(kernel, kernel.reduced);
    if (loops.test || moves_with(loops, lanes.axis->var)) return false;
    const std::int64_t pieces =
        ceil_div(points(kernel.free), columns_of_piece(kernel, squares.has_value()));
    const bool is_long = kernel.reduced.back().extent >= least_tasks * enough_rows;
    // Conditions on rows, as those of unequal chunks, leave no squares.
    if (splitting == Splitting::allowed &&
        lower_in_two_levels(kernel, pieces, lanes.cycles, builder,
                            is_long ? ceil_div(least_tasks, pieces) : 1,
                            squares ? Chunks::equal : Chunks::any))
        return true;
    Schedule schedule{Strategy::strided_reduction, kernel.nest.name, work_of(kernel)};
    Kernel lowered = kernel;
    FarRows(lowered, lanes, squares, schedule).run();
    builder.add_step(std::move(lowered), std::move(schedule));
    return true;
}

}  // namespace ricci::codegen
