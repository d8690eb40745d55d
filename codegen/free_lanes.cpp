// codegen/free_lanes.cpp – loops whose lanes run over a free axis
#include "codegen/free_lanes.h"

#include <algorithm>

#include "base/error.h"
#include "base/integer.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

namespace {

/// Squares side by side along the axis that is transposed, for each vector of lanes: a row of the
/// operand is read from one page for all of them.
constexpr std::int64_t squares_of_strip = 4;

class FreeLanes {
  public:
    FreeLanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll, Schedule& schedule)
        : kernel_(kernel), lanes_(lanes), unroll_(unroll), schedule_(schedule) {
        if (kernel.body) {
            accumulator_ = make_accumulator(kernel, lanes.lanes * unroll);
            reduced_ = reduced_loops(kernel, kernel.reduced);
        }
    }

    void run() {
        find_transposed();
        TaskSplit split =
            split_free_axes(kernel_, lanes_.axis, lanes_.lanes * unroll_, lanes_.cycles);
        describe(split);
        Body body;
        if (lanes_.axis) {
            const AxisRange range = split.loops.back();
            split.loops.pop_back();
            body = transposed_ ? transposed_loops(range) : lane_loops(range);
        } else {
            body = point(Lanes{}, form(0));
        }
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
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
    }

    /// Where a load is contiguous along another axis than the lanes', that axis runs in blocks of
    /// as many points as there are lanes: squares that emitters transpose in registers.
    void find_transposed() {
        if (kernel_.body || !lanes_.axis || lanes_.is_reduced_axis || lanes_.lanes < 4) return;
        for (Axis& axis : kernel_.free) {
            if (axis == *lanes_.axis || axis.extent < lanes_.lanes) continue;
            if (std::ranges::find(kernel_.colliding, axis.var) != kernel_.colliding.end()) continue;
            const std::vector<Touch> all = touches(kernel_);
            const bool is_far = std::ranges::any_of(all, [&](const Touch& touch) {
                const std::int64_t step = touch.address.coefficient(lanes_.axis->var);
                return !touch.is_store && !touch.is_computed && step != 0 && step != 1 &&
                       touch.address.coefficient(axis.var) == 1;
            });
            if (!is_far) continue;
            transposed_ = axis;
            strip_ = kernel_.nest.add(Var{kernel_.nest.at(axis.var).name + "_strip"});
            axis = {strip_, ceil_div(axis.extent / lanes_.lanes, squares_of_strip)};
            schedule_.directives.push_back({"transpose",
                                            kernel_.nest.at(transposed_->var).name,
                                            {lanes_.lanes},
                                            "contiguous in an operand"});
            return;
        }
    }

    /// Whole squares, then, after the last strip, the points that are left one by one.
    Body transposed_loops(const AxisRange& range) {
        const std::int64_t whole = transposed_->extent / lanes_.lanes;
        const std::int64_t strips = ceil_div(whole, squares_of_strip);
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
            const VarId start = kernel_.nest.add(Var{name(range) + "0"});
            AxisRange main = range;
            for (BoundTerm& term : main.upper)
                if (term.form.is_constant()) term.form = form(full);
            body.push_back(make_loop(start, Bind::serial, main.lower, main.upper,
                                     point({lanes_.lanes, unroll_, {}}, form(start)), width));
        }
        if (full < extent) {
            const VarId start = kernel_.nest.add(Var{name(range) + "1"});
            LoopBound lower = range.lower;
            lower.push_back({form(full)});
            Lanes rest{lanes_.lanes, 1, {}};
            if ((extent - full) % lanes_.lanes != 0) rest.limit = bound(form(extent) - form(start));
            body.push_back(make_loop(start, Bind::serial, lower, range.upper,
                                     point(rest, form(start)), lanes_.lanes));
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
            LoopBound end = bound(std::min(squares_of_strip, whole));
            if (whole % squares_of_strip != 0 && whole > squares_of_strip)
                end.push_back({form(whole) + form(strip_, -squares_of_strip)});
            Body strip;
            strip.push_back(
                make_loop(*square_, Bind::serial, bound(0), std::move(end), std::move(square)));
            return strip;
        }
        Body body = over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            return reset(kernel_, accumulator_, offset);
        });
        append(body, reduce(lanes, start));
        append(body, over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
                   Substitution here = at(start + offset);
                   here.replace_let(0, result(kernel_, accumulator_, offset));
                   return write_all(kernel_, here);
               }));
        return body;
    }

    Body reduce(const Lanes& lanes, const AffineForm& start) {
        Body body = over_lanes(kernel_.nest, lanes, [&](const AffineForm& offset) {
            Substitution here = at(start + offset);
            const Value test = reduced_.test ? here(reduced_.test) : nullptr;
            return guarded(test, update(kernel_, accumulator_, offset, here));
        });
        std::vector<AxisRange> loops;
        for (const ReducedLoop& loop : reduced_.loops)
            loops.push_back({loop.axis, loop.lower, loop.upper});
        return wrap(loops, std::move(body));
    }

    /// The lane axis at a place; every other axis is its own loop's variable.
    Substitution at(const AffineForm& place) const {
        Substitution here;
        if (lanes_.axis) here.replace(lanes_.axis->var, place);
        if (square_point_)
            here.replace(transposed_->var, form(strip_, squares_of_strip * lanes_.lanes) +
                                               form(*square_, lanes_.lanes) + form(*square_point_));
        return here;
    }

    Kernel& kernel_;
    const LanePlan& lanes_;
    std::int64_t unroll_;
    Schedule& schedule_;
    Accumulator accumulator_;
    ReducedLoops reduced_;
    std::optional<Axis> transposed_;     ///< runs in squares with the lanes
    VarId strip_{};                      ///< the number of the strip of squares along it
    std::optional<VarId> square_;        ///< that of the square in the strip, while they are made
    std::optional<VarId> square_point_;  ///< the point inside the square, likewise
};

}  // namespace

void lower_free_lanes(Kernel& kernel, const LanePlan& lanes, std::int64_t unroll,
                      Schedule& schedule) {
    FreeLanes(kernel, lanes, unroll, schedule).run();
}

}  // namespace ricci::codegen
