// codegen/pack.cpp – operands of a contraction laid out as its innermost loop reads them
#include "codegen/pack.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/integer.h"
#include "codegen/cache_lines.h"
#include "codegen/kernel_work.h"
#include "codegen/lane_steps.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/pair_products.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"

namespace ricci::codegen {

AffineForm reduced_point(const std::vector<Axis>& reduced) {
    AffineForm point;
    std::int64_t stride = 1;
    for (std::size_t i = reduced.size(); i-- > 0;) {
        point = point + form(reduced[i].var, stride);
        stride *= reduced[i].extent;
    }
    return point;
}

AffineForm Panels::at(const AffineForm& tile, const AffineForm& k,
                      const AffineForm& element) const {
    AffineForm panel = tile;
    std::int64_t stride = tiles;
    for (std::size_t i = outer.size(); i-- > 0;) {
        panel = panel + form(outer[i].var, stride);
        stride *= outer[i].extent;
    }
    return elements * panel + point_step * k + element_step * element;
}

namespace {

/// Cycles of a vector that is loaded and stored, or gathered.
constexpr double contiguous_cycles = 3;
constexpr double gathered_cycles = 24;
/// One page a point at worst: what a first-level TLB holds with room to spare.
constexpr std::int64_t points_a_block = 16;

class Packer {
  public:
    Packer(const Kernel& kernel, const Value& term, const Tiling& tiling, Pairing pairing,
           const std::string& name, PlanBuilder& builder)
        : term_(term),
          tiling_(tiling),
          pair_(pairing == Pairing::pairs ? 2 : 1),
          builder_(builder),
          schedule_{Strategy::contraction, name, {}},
          kernel_(kernel.step_beside(name)) {
        kernel_.slices = kernel.slices;
        kernel_.free = kernel.free;
        kernel_.reduced = kernel.reduced;
        kernel_.conditions = kernel.conditions;
        lanes_ = std::max<std::int64_t>(
            1, builder.target().vector_bytes / (pair_ * std::int64_t(size_bytes(term->dtype))));
        if (pair_ == 1) merge_reduced();
    }

    Panels run(const std::vector<Axis>& batch, Side side) {
        if (serves_several_slices()) {
            for (const Axis& axis : std::exchange(kernel_.slices, {}))
                if (depends_on(term_, axis.var)) panels_.outer.push_back(axis);
        }
        // Where conditions move the bounds of the reduced axes, they may do so along any batch
        // axis.
        for (const Axis& axis : batch)
            if (!kernel_.conditions.is_empty() || depends_on(term_, axis.var))
                panels_.outer.push_back(axis);
        for (const Axis& axis : tiling_.outer)
            if (depends_on(term_, axis.var)) panels_.outer.push_back(axis);
        panels_.tiles = tiling_.tiles();
        side_ = side;
        find_squares();
        layout_ = choose_layout();
        layout_ == Layout::interleaved ? lay_out_interleaved() : lay_out_by_row();
        panels_.place = builder_.temporary(kernel_.nest.name, term_->dtype,
                                           points(panels_.outer) * panels_.tiles * panels_.elements,
                                           !kernel_.slices.empty());
        buffer_ = kernel_.argument(builder_.plan(), panels_.place, true);
        schedule_.work = work_of(copying());
        tile_ = {kernel_.nest.add(Var{"tile"}), panels_.tiles};
        finish(layout_ == Layout::copied_rows ? copy_rows() : interleave());
        return panels_;
    }

  private:
    /// Joins reduced axes that the operand walks as one, so that rows of memory are long. Not of
    /// pairs: these are of points of the last axis, and an odd one is filled up.
    void merge_reduced() {
        Kernel merged = kernel_;
        merged.free.clear();
        merged.body = term_;
        merge_axes(merged);
        kernel_.reduced = merged.reduced;
        kernel_.conditions = merged.conditions;
        term_ = merged.body;
    }
    /// Whether slices share panels: these are packed once, before all slices.
    [[nodiscard]] bool serves_several_slices() const {
        bool is_of_slice = false;
        for_each_node({term_}, [&](const Value& value) {
            const auto* load = std::get_if<Load>(&value->term);
            if (load == nullptr) return;
            const std::size_t place = kernel_.places.at(std::size_t(load->buffer));
            is_of_slice |= builder_.plan().buffers[place].is_of_slice;
        });
        return !is_of_slice && kernel_.conditions.is_empty() &&
               std::ranges::any_of(kernel_.slices,
                                   [&](const Axis& axis) { return !depends_on(term_, axis.var); });
    }
    /// What is packed as a pass over memory.
    [[nodiscard]] Kernel copying() const {
        Kernel copying = kernel_;
        copying.free = panels_.outer;
        copying.free.push_back(tiling_.axis);
        copying.free.insert(copying.free.end(), kernel_.reduced.begin(), kernel_.reduced.end());
        copying.reduced.clear();
        copying.conditions = {};
        copying.writes = {{buffer_, {reduced_point(copying.free)}, term_, std::nullopt}};
        return copying;
    }
    /// A reduced point, or a pair of them: what the reduced axes' variables are at the first, and
    /// how many of the pair there are; others are 0.
    struct Points {
        Substitution to = {};
        std::int64_t count = 2;
    };
    using MakeLines = std::function<Body(const Points&)>;

    enum class Layout : std::uint8_t {
        interleaved,
        copied_rows,  ///< by row, as they stand
    };
    /// Rows are copied where neither lines nor squares of them can be.
    [[nodiscard]] Layout choose_layout() const {
        const bool is_copied = side_ == Side::rows && kernel_.conditions.is_empty() && !squares_ &&
                               !is_contiguous(term_, tiling_.axis.var) &&
                               is_contiguous(term_, kernel_.reduced.back().var);
        return is_copied ? Layout::copied_rows : Layout::interleaved;
    }
    void lay_out_by_row() {
        const std::int64_t line = line_bytes / std::int64_t(size_bytes(term_->dtype));
        const std::int64_t lines = (points(panel_points()) + line - 1) / line | 1;
        panels_.point_step = 1;
        panels_.element_step = lines * line;
        panels_.elements = tiling_.step * panels_.element_step;
        describe(false);
    }
    void lay_out_interleaved() {
        panels_.point_step = tiling_.step;
        panels_.element_step = pair_;
        panels_.elements = points(panel_points()) * tiling_.step;
        describe(!is_contiguous(term_, tiling_.axis.var) && !squares_);
    }
    void describe(bool is_gathered) {
        const char* why = layout_ == Layout::copied_rows ? "tiles, elements, step of a row; copied"
                          : is_gathered ? "tiles, elements, step of a point; gathered"
                          : squares_    ? "tiles, elements, step of a point; transposed"
                                        : "tiles, elements, step of a point";
        schedule_.directives.push_back(
            {"pack",
             kernel_.nest.name,
             {panels_.tiles, panels_.elements, std::max(panels_.point_step, panels_.element_step)},
             why});
        const double vectors = double(panels_.elements) / double(lanes_);
        cycles_ = vectors * (cost({term_}) + (is_gathered ? gathered_cycles : contiguous_cycles));
    }

    [[nodiscard]] AffineForm first() const { return form(tile_.var, tiling_.step); }
    /// The reduced points of a panel.
    [[nodiscard]] std::vector<Axis> panel_points() const {
        return pair_ == 1 ? kernel_.reduced : padded_to_pairs(kernel_.reduced);
    }
    [[nodiscard]] bool has_odd_end() const { return kernel_.reduced.back().extent % pair_ != 0; }
    /// Where an element is at a reduced point, the first of its pair or the next.
    [[nodiscard]] Address place(const AffineForm& element, std::int64_t next = 0) const {
        // The next of an interleaved pair is one element further, not one line.
        return {panels_.at(form(tile_.var), reduced_point(panel_points()), element) -
                form(next * (panels_.point_step - 1))};
    }
    Body store(const Address& at, const Value& value) {
        Body body;
        const std::vector<Value> values = share(body, {value}, kernel_.next_let);
        body.push_back(make_store(buffer_, at, values[0]));
        return body;
    }

    /// A line of rows is any number of them (what a vector has more is masked); one of columns may
    /// be three vectors of the accumulators, whose elements may be wider.
    [[nodiscard]] std::int64_t lanes_of_line() const {
        return std::min(
            side_ == Side::rows ? power_of_two_above(tiling_.step) : tiling_.step & -tiling_.step,
            lanes_);
    }

    /// Row by row, in vectors along the innermost reduced axis.
    Body copy_rows() {
        Nest& nest = kernel_.nest;
        const VarId row = nest.add(Var{"row"});
        const Axis last = kernel_.reduced.back();
        const VarId start = nest.add(Var{nest.at(last.var).name + "0"});
        const auto vectors = [&](const Value& term) {
            Lanes lanes{std::min(lanes_, power_of_two_above(last.extent)), 1, {}};
            if (last.extent % lanes.lanes != 0)
                lanes.limit = bound(form(last.extent) - form(start));
            Body body = over_lanes(nest, lanes, [&](const AffineForm& offset) {
                Substitution here;
                here.replace(last.var, form(start) + offset);
                here.replace(tiling_.axis.var, first() + form(row));
                return store(here(place(form(row))), here(term));
            });
            Body loop;
            loop.push_back(make_loop(start, Bind::serial, bound(0), bound(last.extent),
                                     std::move(body), lanes.lanes));
            return over_points_but(last, std::move(loop));
        };
        Body body;
        const Axis rows{row, tiling_.step};
        AxisRange inside{rows, bound(0), bound(tiling_.step)};
        if (tiling_.has_edge())
            inside.upper = with(inside.upper, form(tiling_.axis.extent) - first());
        append(body, wrap({inside}, vectors(term_)));
        if (tiling_.has_edge()) {
            AxisRange beyond{rows, bound(0), bound(tiling_.step)};
            beyond.lower.push_back({form(tiling_.axis.extent) - first()});
            append(body, wrap({beyond}, vectors(make_number(term_->dtype, 0))));
        }
        if (has_odd_end()) {
            Substitution end;
            end.replace(last.var, form(last.extent));
            append(body, wrap({{rows, bound(0), bound(tiling_.step)}},
                              over_points_but(last, store(end(place(form(row))),
                                                          make_number(term_->dtype, 0)))));
        }
        return body;
    }

    /// Reduced point by reduced point, in vectors along the tiled axis. Panels are filled a block
    /// of points at a time: the rows of memory that a block touches serve the next panels too.
    Body interleave() {
        cut_points();
        if (!tiling_.has_edge()) return lines_of(tiling_.step);
        const std::int64_t inside = tiling_.axis.extent - (tile_.extent - 1) * tiling_.step;
        // Zeros right before the elements where all panels have an edge: the line is in the first
        // cache.
        if (tile_.extent == 1 && !squares_)
            return over_points([&](const Points& at) {
                Body body = zero_edge(inside, at);
                append(body, vectors_of_elements(line_of(inside), at, form(0)));
                return body;
            });
        Body last = over_outer_squares(
            over_points([&](const Points& at) { return zero_edge(inside, at); }));
        append(last, lines_of(inside));
        if (tile_.extent == 1) return last;
        // Apart from the others, so that the bounds of all are constants.
        const auto test = [&](Op op) {
            return make_operation(op, {make_index(form(tile_.var)), make_integer(tile_.extent - 1)},
                                  DType::boolean);
        };
        Body body = guarded(test(Op::eq), std::move(last));
        append(body, guarded(test(Op::ne), lines_of(tiling_.step)));
        return body;
    }
    /// So many elements of a line.
    [[nodiscard]] Lanes line_of(std::int64_t elements) const {
        Lanes lanes{lanes_of_line(), ceil_div(elements, lanes_of_line()), {}};
        if (elements % lanes.lanes != 0) lanes.limit = bound(elements);
        return lanes;
    }
    /// So many elements of all lines of a panel.
    Body lines_of(std::int64_t elements) {
        if (squares_) return transpose(elements);
        return over_points(
            [&](const Points& at) { return vectors_of_elements(line_of(elements), at, form(0)); });
    }
    /// The vectors of a line of the last tile that reach beyond the elements inside, as zeros.
    Body zero_edge(std::int64_t inside, const Points& at) {
        Lanes beyond = line_of(tiling_.step);
        const std::int64_t whole = inside / beyond.lanes * beyond.lanes;
        beyond.unroll -= whole / beyond.lanes;
        for (BoundTerm& term : beyond.limit) term.form.constant -= whole;
        return over_lanes(kernel_.nest, beyond, [&](const AffineForm& offset) {
            return store_at({at.to, 0}, form(whole) + offset);
        });
    }
    /// The lines of one reduced point, or of a pair, from element `start` on.
    Body vectors_of_elements(const Lanes& lanes, const Points& at, const AffineForm& start) {
        return over_lanes(kernel_.nest, lanes,
                          [&](const AffineForm& offset) { return store_at(at, start + offset); });
    }
    /// An element at a reduced point, or at both of a pair.
    Body store_at(const Points& at, const AffineForm& element) {
        Body body;
        const VarId last = kernel_.reduced.back().var;
        for (std::int64_t next = 0; next < pair_; ++next) {
            Substitution here = at.to;
            if (next > 0) here.replace(last, at.to(form(last)) + form(next));
            here.replace(tiling_.axis.var, first() + element);
            append(body, store(here(place(element, next)),
                               next < at.count ? here(term_) : make_number(term_->dtype, 0)));
        }
        return body;
    }

    /// Rows that are contiguous in a reduced axis, or in an outer one, become lines: squares of as
    /// many lanes as points of that axis, or pairs of them, are loaded by rows and stored by lines.
    void find_squares() {
        constexpr std::int64_t least_lanes = 4;  // fewer are not shuffled
        constexpr std::int64_t least_side = 8;   // shorter rows are copied, or gathered
        if (is_contiguous(term_, tiling_.axis.var) ||
            lanes_of_line() < std::min(least_lanes, lanes_))
            return;
        const std::int64_t least = std::min(least_side, lanes_of_line());
        std::vector<Axis> axes = {kernel_.reduced.rbegin(), kernel_.reduced.rend()};
        if (kernel_.conditions.is_empty())
            axes.insert(axes.end(), panels_.outer.begin(), panels_.outer.end());
        for (const std::int64_t step : {std::int64_t{1}, longest_step_of_squares()})
            for (const Axis& axis : axes)
                if (!squares_ && lines_along(axis) >= least && is_unconditional(axis) &&
                    is_contiguous(term_, axis.var, step)) {
                    squares_ = axis;
                    side_of_square_ = best_side(lines_along(axis), least);
                }
        if (has_outer_squares())
            strip_ = {kernel_.nest.add(Var{kernel_.nest.at(squares_->var).name + "_strip"}),
                      ceil_div(squares_->extent, side_of_square_)};
    }
    /// Elements from line to line of a square: some are read and left out. Pairs are of neighbours;
    /// what is near along the tiled axis is shuffled, and rows along the last reduced one copied.
    [[nodiscard]] std::int64_t longest_step_of_squares() const {
        const bool is_near = is_contiguous(term_, tiling_.axis.var, longest_short_step) ||
                             is_contiguous(term_, kernel_.reduced.back().var);
        return pair_ > 1 || is_near ? 1 : longest_short_step;
    }
    /// Whether conditions say nothing of the axis, and what they say of others are loop bounds.
    [[nodiscard]] bool is_unconditional(const Axis& axis) const {
        const Conditions& conditions = kernel_.conditions;
        if (conditions.is_empty()) return true;
        const auto mentions = [&](const AffineForm& form) {
            return form.coefficient(axis.var) != 0;
        };
        return pair_ == 1 && std::ranges::none_of(conditions.at_least_zero, mentions) &&
               std::ranges::none_of(conditions.equal_zero, mentions) &&
               !reduced_loops_along(kernel_, axis).test;
    }
    /// Reduced points of a line, where lines follow each other along the axis.
    [[nodiscard]] std::int64_t points_of_line(const Axis& axis) const {
        return axis == kernel_.reduced.back() ? pair_ : 1;
    }
    [[nodiscard]] std::int64_t lines_along(const Axis& axis) const {
        return axis.extent / points_of_line(axis);
    }
    /// Of squares along an axis: small ones take more instructions an element, which are a load, a
    /// store and log2(side) shuffles of `side` elements; large ones leave more lines over, which
    /// are gathered.
    [[nodiscard]] std::int64_t best_side(std::int64_t lines, std::int64_t least) const {
        const auto cycles = [&](std::int64_t side) {
            const double of_element =
                double(1 + std::bit_width(std::uint64_t(side))) / double(side);
            return double(lines / side * side) * of_element +
                   double(lines % side) * gathered_cycles / double(lanes_of_line());
        };
        std::int64_t best = least;
        for (std::int64_t side = 2 * least; side <= std::min(lanes_of_line(), lines); side *= 2)
            if (cycles(side) <= cycles(best)) best = side;
        return best;
    }
    [[nodiscard]] bool has_outer_squares() const {
        return squares_ && std::ranges::find(kernel_.reduced, *squares_) == kernel_.reduced.end();
    }
    /// The body at every point of the squares of this strip, where their axis is an outer one.
    Body over_outer_squares(Body body) const {
        if (!has_outer_squares()) return body;
        const AffineForm first = form(strip_.var, side_of_square_);
        const AffineForm end = first + form(side_of_square_);
        return wrap({{*squares_, bound(first), with(bound(squares_->extent), end)}},
                    std::move(body));
    }
    Body transpose(std::int64_t elements) {
        Nest& nest = kernel_.nest;
        const Lanes lanes{side_of_square_, ceil_div(elements, side_of_square_), {}};
        const Axis last = *squares_;
        const VarId start = nest.add(Var{nest.at(last.var).name + "0"});
        const VarId square = nest.add(Var{"square"});
        const VarId point = nest.add(Var{"p"});
        const AffineForm element = form(square, lanes.lanes);
        const std::int64_t step = points_of_line(last);
        const bool is_paired = step > 1;
        const std::int64_t length = step * lanes.lanes;
        const std::int64_t whole = last.extent / length * length;
        Lanes across{lanes.lanes, 1, {}};
        if (elements % lanes.lanes != 0) across.limit = bound(form(elements) - element);
        const auto lines = [&](Points at) {
            at.to.replace(last.var, form(start) + form(point, step));
            Body loop;
            loop.push_back(make_loop(point, Bind::unroll, lanes.lanes,
                                     vectors_of_elements(across, at, element)));
            return loop;
        };
        const auto along = [&](const Points& at) {
            Body loop;
            loop.push_back(
                make_loop(start, Bind::serial, bound(0), bound(whole), lines(at), length));
            return loop;
        };
        const auto rest = [&](const Points& at) {
            const auto vectors = [&](const Points& each) {
                return vectors_of_elements(line_of(elements), each, form(0));
            };
            if (is_paired) return over_pairs(bound(whole), bound(last.extent), vectors);
            Body loop;
            loop.push_back(
                make_loop(last.var, Bind::serial, bound(whole), bound(last.extent), vectors(at)));
            return loop;
        };
        const auto over_lines = [&](Body square_body) {
            Body loop;
            loop.push_back(make_loop(square, Bind::serial, lanes.unroll, std::move(square_body)));
            return loop;
        };
        if (!has_outer_squares()) {
            // Squares and what they leave over at one point of the other axes: both read it.
            return over_points_but(last, [&](const Points& at) {
                Body body = over_lines(along(at));
                if (whole < last.extent) append(body, rest(at));
                return body;
            });
        }
        // Along each line of squares: the rows of one are near those of the next.
        Body squares = over_lines(over_points_but(last, lines));
        squares.insert(squares.begin(), make_let_var(start, form(strip_.var, lanes.lanes), 1, 0));
        if (whole == last.extent) return squares;
        const auto test = [&](Op op) {
            return make_operation(op,
                                  {make_index(form(strip_.var)), make_integer(whole / lanes.lanes)},
                                  DType::boolean);
        };
        Body body = guarded(test(Op::lt), std::move(squares));
        append(body, guarded(test(Op::ge), over_points_but(last, rest)));
        return body;
    }

    /// The body at every reduced point of the axes but one.
    Body over_points_but(const Axis& last, Body body) const {
        std::vector<AxisRange> outer;
        const ReducedLoops all = has_outer_squares() ? reduced_loops(kernel_, kernel_.reduced)
                                                     : reduced_loops_along(kernel_, last);
        for (const ReducedLoop& loop : all.loops)
            if (loop.axis != last) outer.push_back({loop.axis, loop.lower, loop.upper});
        return wrap(outer, std::move(body));
    }
    /// The same by pairs, where these are not of that axis.
    Body over_points_but(const Axis& but, const MakeLines& make) const {
        const Axis last = kernel_.reduced.back();
        if (pair_ == 1 || but == last) return over_points_but(but, make(Points{}));
        std::vector<AxisRange> outer;
        for (const Axis& axis : kernel_.reduced)
            if (axis != but && axis != last) outer.push_back({axis, bound(0), bound(axis.extent)});
        return wrap(outer, over_pairs(bound(0), bound(last.extent), make));
    }
    Body over_points(const MakeLines& make) const {
        std::vector<AxisRange> ranges;
        for (const ReducedLoop& loop : reduced_loops(kernel_, kernel_.reduced).loops)
            ranges.push_back({loop.axis, loop.lower, loop.upper});
        if (block_) {
            const AffineForm start = form(block_->axis.var, points_a_block);
            ranges[0].lower = bound(start);
            ranges[0].upper = with(bound(ranges[0].axis.extent), start + form(points_a_block));
        }
        if (pair_ == 1) return wrap(ranges, make(Points{}));
        const AxisRange last = ranges.back();
        ranges.pop_back();
        return wrap(ranges, over_pairs(last.lower, last.upper, make));
    }
    /// The body at the pairs of the last axis in a range; at its end the second point may be none.
    Body over_pairs(const LoopBound& lower, const LoopBound& upper, const MakeLines& make) const {
        const Axis last = kernel_.reduced.back();
        Body body;
        body.push_back(make_loop(last.var, Bind::serial, lower,
                                 with(upper, form(last.extent / pair_ * pair_)), make(Points{}),
                                 pair_));
        if (!has_odd_end()) return body;
        Points end{.count = 1};
        end.to.replace(last.var, form(last.extent - 1));
        Body tail = make(end);
        if (block_) {
            const Value is_last = make_operation(
                Op::eq, {make_index(form(block_->axis.var)), make_integer(block_->axis.extent - 1)},
                DType::boolean);
            tail = guarded(is_last, std::move(tail));
        }
        append(body, std::move(tail));
        return body;
    }
    void cut_points() {
        // Gathers use whole cache lines of each row as they go from point to point: no blocks.
        if (!is_contiguous(term_, tiling_.axis.var)) return;
        if (kernel_.reduced.size() != 1 || !kernel_.conditions.is_empty()) return;
        const std::int64_t extent = kernel_.reduced[0].extent;
        if (extent <= points_a_block) return;
        const std::int64_t blocks = (extent + points_a_block - 1) / points_a_block;
        const Axis axis{
            kernel_.nest.add(Var{kernel_.nest.at(kernel_.reduced[0].var).name + "_block"}), blocks};
        block_ = AxisRange{axis, bound(0), bound(blocks)};
    }

    /// Tasks over the outer axes and panels.
    void finish(Body body) {
        std::vector<Axis> order = panels_.outer;
        if (has_outer_squares()) {
            std::ranges::replace(order, *squares_, strip_);
            cycles_ *= double(side_of_square_);
        }
        order.push_back(tile_);
        TaskSplit split = split_tasks(kernel_, order, 1, cycles_);
        schedule_.directives.push_back({"parallel", "", {split.tasks}, ""});
        if (block_) {
            const bool has_tiles = !split.loops.empty() && split.loops.back().axis == tile_;
            split.loops.insert(split.loops.end() - (has_tiles ? 1 : 0), *block_);
        }
        kernel_.nest.body = parallel(split, wrap(split.loops, std::move(body)));
        builder_.add_step(std::move(kernel_), std::move(schedule_));
    }

    Value term_;
    const Tiling& tiling_;
    std::int64_t pair_;  ///< points side by side: 2 or 1
    PlanBuilder& builder_;
    Schedule schedule_;
    Kernel kernel_;
    Panels panels_;
    Side side_ = Side::rows;
    Layout layout_ = Layout::interleaved;
    Axis tile_;
    BufferId buffer_{};
    std::optional<Axis> squares_;      ///< its points and lines are squares, transposed
    std::int64_t side_of_square_ = 1;  ///< in lanes, and in lines
    Axis strip_;                       ///< of as many points as a square, where it is outer
    std::optional<AxisRange> block_;   ///< blocks of reduced points, outside the panels of a task
    std::int64_t lanes_ = 1;
    double cycles_ = 0;
};

}  // namespace

Panels pack(const Kernel& kernel, const Value& term, const std::vector<Axis>& batch,
            const Tiling& tiling, Side side, Pairing pairing, const std::string& name,
            PlanBuilder& builder) {
    return Packer(kernel, term, tiling, pairing, name, builder).run(batch, side);
}

}  // namespace ricci::codegen
