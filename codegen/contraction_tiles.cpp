// codegen/contraction_tiles.cpp – reductions of two operands, tiled in registers
//
// A task is a block of tiles: `rows` rows by `vectors` vectors of lanes of accumulators. The
// innermost loop loads a line of each column panel, broadcasts each row's scalar, and evaluates the
// rest of the body. Panels are padded, so that tiles are full: only the writes look at the edges.
// Where conditions tie columns to the reduced axes, as in the gradient of a convolution, columns
// are read where they stand: the bounds of the innermost loops follow the columns outside the tile,
// and lanes that a condition excludes keep what they have. Where conditions tie rows to them, as
// with a triangular matrix, loops run over what any row takes, and each row tests its own.
#include "codegen/contraction_tiles.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/integer.h"
#include "codegen/busy_units.h"
#include "codegen/cache_lines.h"
#include "codegen/contraction_sources.h"
#include "codegen/kernel_work.h"
#include "codegen/lane_masks.h"
#include "codegen/last_tile.h"
#include "codegen/lower.h"
#include "codegen/nan_makers.h"
#include "codegen/pair_products.h"
#include "codegen/point_loops.h"
#include "codegen/repeated_broadcasts.h"
#include "codegen/taken_rows.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"
#include "codegen/tile_blocks.h"
#include "codegen/tile_prefetch.h"

namespace ricci::codegen {

namespace {

class ContractionLowering {
  public:
    ContractionLowering(const Kernel& kernel, ContractionChoice choice, PlanBuilder& builder,
                        std::vector<Directive> directives)
        : kernel_(choice.flattened ? choice.flattened->kernel : kernel),
          choice_(std::move(choice)),
          c_(choice_.contraction),
          tile_(choice_.tile),
          builder_(builder) {
        rows_.axis = choice_.row_axis;
        rows_.outer = c_.rows;
        std::erase(rows_.outer, rows_.axis);
        rows_.step = tile_.rows;
        columns_ = {c_.columns, c_.lane, tile_.columns()};
        if (choice_.flattened) kernel_.writes = choice_.flattened->writes;
        if (is_paired()) kernel_.reduced = with_pairs_last(kernel_.reduced);
        schedule_ = {Strategy::contraction, kernel.nest.name, work_of(kernel),
                     std::move(directives)};
        are_conditions_packed_ = are_conditions_of_batch(kernel_, c_);
        row_conditions_ = take_row_conditions(kernel_, choice_);
        masks_.take_conditions(kernel_, c_.lane.var, is_narrow(kernel_, choice_, builder.target()));
    }

    void run() {
        blocks_ =
            choose_blocks(kernel_, choice_, {rows_.tiles(), columns_.tiles()}, builder_.target());
        kernel_.most_tasks = blocks_.most_tasks;
        const SourcePlacing placing{choice_, rows_, columns_, are_conditions_packed_,
                                    blocks_.least_tasks_of_panels};
        std::tie(row_sources_, column_sources_) =
            place_sources(kernel_, placing, schedule_, builder_);
        nan_makers_ = count_nan_makers(kernel_, c_, builder_);
        if (nan_makers_)
            schedule_.directives.push_back(
                {"look", "for NaN", {}, "without any an extremum is one instruction"});
        if (!masks_.conditions().empty() && !choice_.is_careful)
            mask_needers_ = count_mask_needers(kernel_, c_, builder_);
        if (mask_needers_)
            schedule_.directives.push_back(
                {"look", "for infinities", {}, "without any no sum needs a mask"});
        choose_depth_loops();
        row_tile_ = kernel_.nest.add(Var{"row_tile"});
        column_tile_ = kernel_.nest.add(Var{"column_tile"});
        make_registers();
        if (!row_conditions_.tested.empty()) place_bounds();
        kernel_.nest.asks_ahead = true;
        kernel_.nest.multiplies_in_sums = multiplies_in_sums(kernel_, builder_.target());
        repeated_ = repeat_broadcasts(kernel_, c_.body, terms(c_.row_operands), all_terms(c_),
                                      builder_.target());
        stream_results();
        kernel_.nest.body =
            task_loops({row_tile_, rows_.tiles()}, {column_tile_, columns_.tiles()});
        builder_.add_step(std::move(kernel_), std::move(schedule_));
    }

  private:
    /// Which lanes are read at the points of the inner loops.
    Body set_mask() {
        std::vector<AffineForm> conditions;
        if (!lane_places_) conditions = masks_.conditions();
        if (columns_.has_edge())
            conditions.push_back(form(columns_.axis.extent - 1) - form(c_.lane.var));
        return masks_.set(kernel_.nest, [&](const AffineForm& column) {
            Value is_taken = all_hold(conditions, at(form(0), column));
            if (!lane_places_) return is_taken;
            const Value of_row = lane_places_->is_taken(kernel_.nest, column);
            return is_taken ? make_operation(Op::logical_and, {is_taken, of_row}, DType::boolean)
                            : of_row;
        });
    }
    [[nodiscard]] Value is_read(const AffineForm& column) const {
        return masks_.is_taken(kernel_.nest, column);
    }
    /// Of few reduced points results take as long to write as to compute; whole lines go at once.
    void stream_results() {
        constexpr std::int64_t most_points = 32;
        const auto bytes = std::int64_t(size_bytes(kernel_.writes[0].value->dtype));
        const bool has_pieces = columns_.has_edge() || tile_.columns() * bytes % line_bytes != 0;
        if (!choice_.flattened && !has_pieces && points(kernel_.reduced) <= most_points)
            stream_large_outputs(kernel_, c_.lane, tile_.lanes, builder_.target(), schedule_);
    }
    [[nodiscard]] bool is_paired() const { return choice_.pairing == Pairing::pairs; }

    /// One loop over all lines where everything reduced is packed, else the reduced axes' loops.
    void choose_depth_loops() {
        const bool is_flat = kernel_.conditions.is_empty() &&
                             is_all_packed(kernel_, c_.body, row_sources_, column_sources_);
        if (!is_flat) {
            depth_ = reduced_point(kernel_.reduced);
            const ReducedLoops reduced = reduced_loops(kernel_, kernel_.reduced);
            depth_test_ = reduced.test;
            for (const ReducedLoop& loop : reduced.loops)
                depth_loops_.push_back({loop.axis, loop.lower, loop.upper});
            return;
        }
        const std::int64_t step = is_paired() ? 2 : 1;
        const auto all = is_paired() ? padded_to_pairs(kernel_.reduced) : kernel_.reduced;
        const Axis k{kernel_.nest.add(Var{"k"}), points(all) / step};
        depth_ = form(k.var, step);
        depth_loops_ = {{k, bound(0), bound(k.extent)}};
    }

    /// Those of the tile's first row.
    void place_bounds() {
        Substitution first;
        first.replace(rows_.axis.var, first_row());
        if (depth_test_) depth_test_ = first(depth_test_);
        for (AxisRange& loop : depth_loops_)
            loop = {loop.axis, first(loop.lower), first(loop.upper)};
    }

    void make_registers() {
        accumulator_ = make_accumulator(kernel_, choice_.rows_of_tile() * tile_.columns());
        const std::int64_t line = is_paired() ? 0 : tile_.columns();
        for (Source& source : column_sources_)
            if (line > 0)
                source.line = add_registers(kernel_.nest, "line", source.term->dtype, line);
        const bool is_any_direct = std::ranges::any_of(
            column_sources_, [](const Source& source) { return !source.panels; });
        if (may_rows_overlap())
            last_rows_.emplace(rows_, row_tile_, kernel_.nest.add(Var{"is_last_row"}));
        if (may_columns_overlap())
            last_columns_.emplace(columns_, column_tile_, kernel_.nest.add(Var{"is_last_column"}));
        else if (!masks_.conditions().empty() || (is_any_direct && columns_.has_edge()))
            masks_.make_registers(kernel_.nest, all_lanes(), kernel_.body->dtype,
                                  builder_.target());
        if (choice_.flattened && !masks_.conditions().empty())
            lane_places_.emplace(kernel_.nest, *choice_.flattened, all_lanes());
        for (const Operand& operand : c_.held) {
            const std::int64_t elements = (operand.has_rows ? choice_.rows_of_tile() : 1) *
                                          (operand.has_columns ? tile_.columns() : 1);
            held_.push_back(add_registers(kernel_.nest, "held", operand.term->dtype, elements));
        }
    }

    // Loops.

    /// Blocks of tiles whose panels stay in the second-level cache, each enough work for a task.
    Body task_loops(const Axis& row_tiles, const Axis& column_tiles) {
        const double all = tile_cycles(kernel_, choice_, builder_.target()) * double(choice_.tiles);
        Nest& nest = kernel_.nest;
        const auto block = [&](const Axis& tiles, std::int64_t count, const char* name) {
            const Axis blocks{nest.add(Var{name}), ceil_div(tiles.extent, count)};
            const AxisRange range{tiles, bound(form(blocks.var, count)),
                                  with(bound(tiles.extent), form(blocks.var, count) + form(count))};
            return std::pair(blocks, range);
        };
        const auto [row_blocks, row_range] = block(row_tiles, blocks_.row_tiles, "row_block");
        const auto [column_blocks, column_range] =
            block(column_tiles, blocks_.column_tiles, "column_block");
        std::vector<Axis> of_rows = rows_.outer;
        for (const Axis& axis : choice_.whole_rows) std::erase(of_rows, axis);
        of_rows.push_back(row_blocks);
        std::vector<Axis> of_columns = columns_.outer;
        of_columns.push_back(column_blocks);
        std::vector<Axis> order = c_.batch;
        for (const auto* axes : blocks_.are_rows_outermost ? std::array{&of_rows, &of_columns}
                                                           : std::array{&of_columns, &of_rows})
            order.insert(order.end(), axes->begin(), axes->end());
        const TaskSplit split =
            split_tasks(kernel_, order, 1, all / double(std::max<std::int64_t>(1, points(order))));
        describe(split);
        if (blocks_.row_tiles > 1)
            is_first_tile_ = all_hold({row_range.lower[0].form - form(row_tiles.var)}, {});
        Body body = wrap({column_range, row_range}, tile_body());
        return parallel(split, wrap(split.loops, std::move(body)));
    }

    void describe(const TaskSplit& split) {
        auto& directives = schedule_.directives;
        for (const Directive& each : tile_directives(kernel_, choice_)) directives.push_back(each);
        const char* const why = "tiles of a task: panels stay in the second-level cache";
        directives.push_back({"block", "", {blocks_.row_tiles, blocks_.column_tiles}, why});
        directives.push_back({"parallel", "", {split.tasks}, "by extents alone"});
    }

    Body tile_body() {
        Body body;
        if (lane_places_) body = lane_places_->set(kernel_.nest, first_column());
        for (const std::optional<LastTile>* last : {&last_rows_, &last_columns_})
            if (*last) body.push_back((*last)->set());
        append(body, load_held());
        append(body, elements([&](const AffineForm& element, const AffineForm&, const AffineForm&) {
                   return reset(kernel_, accumulator_, element);
               }));
        append(body, guarded(is_needed(), depth()));
        append(body, write_tile());
        return body;
    }

    /// Whether some element of the tile is.
    [[nodiscard]] Value is_needed() const {
        std::vector<AffineForm> most;
        for (const AffineForm& each : kernel_.needed_where) {
            const std::int64_t row = each.coefficient(rows_.axis.var) > 0 ? tile_.rows - 1 : 0;
            const std::int64_t last = each.coefficient(c_.lane.var) > 0 ? tile_.columns() - 1 : 0;
            most.push_back(at(form(row), form(last))(each));
        }
        return all_hold(most, Substitution{});
    }

    /// A body for every element of the tile: its accumulator, its row and its column.
    template <class Make>
    Body elements(const Make& make) {
        return each_row([&](const AffineForm& row) {
            return over_lanes(kernel_.nest, all_lanes(), [&](const AffineForm& column) {
                return make(accumulator_at(row, column), row, column);
            });
        });
    }
    /// A body for every row: a place along `rows_.axis`, and loops over the axes that are whole.
    template <class Make>
    Body each_row(const Make& make) {
        return each_row(Elements{0, tile_.rows}, make);
    }
    template <class Make>
    Body each_row(const Elements& some, const Make& make) {
        if (tile_.rows == 1) return make(form(0));
        const VarId row = kernel_.nest.add(Var{"row"});
        Body body = make(form(row) + form(some.first));
        std::vector<Axis> loops = choice_.whole_rows;
        loops.push_back({row, some.end - some.first});
        for (const Axis& axis : loops) {
            Body inner = std::exchange(body, {});
            body.push_back(make_loop(axis.var, Bind::unroll, axis.extent, std::move(inner)));
        }
        return body;
    }
    /// The same for the rows that there are, and that no other tile has.
    template <class Make>
    Body each_own_row(const Make& make) {
        const OwnElements own = own_elements(rows_, last_rows_, first_row());
        Body body = each_row(own.always, make);
        if (own.unless_last) append(body, guarded(own.unless_last, each_row(own.others, make)));
        return body;
    }
    /// Which row of accumulators that is.
    [[nodiscard]] AffineForm row_number(const AffineForm& row) const {
        AffineForm number = row;
        for (const Axis& axis : choice_.whole_rows) number = axis.extent * number + form(axis.var);
        return number;
    }
    [[nodiscard]] AffineForm accumulator_at(const AffineForm& row, const AffineForm& column) const {
        return tile_.columns() * row_number(row) + column;
    }

    [[nodiscard]] Lanes all_lanes() const { return {tile_.lanes, tile_.vectors, {}}; }
    [[nodiscard]] AffineForm first_row() const {
        return first_element(rows_, row_tile_, last_rows_);
    }
    [[nodiscard]] AffineForm first_column() const {
        return first_element(columns_, column_tile_, last_columns_);
    }
    /// Whether tiles are whole wherever they start, which panels do not hold.
    [[nodiscard]] bool may_columns_overlap() const {
        return columns_.has_edge() && columns_.axis.extent >= columns_.step &&
               masks_.conditions().empty() && !is_some_packed(choice_.columns);
    }
    [[nodiscard]] bool may_rows_overlap() const {
        const bool may = rows_.has_edge() && !is_some_packed(choice_.rows);
        RICCI_ASSERT(!may || row_conditions_.tested.empty(),
                     "rows with bounds of their own are packed");
        return may;
    }
    /// A body for every column that there is; if the last tile shares some, with whether it is its
    /// own.
    template <class Make>
    Body each_own_column(const Make& make) {
        return over_own_lanes(kernel_.nest, all_lanes(), columns_, last_columns_, first_column(),
                              make);
    }
    Substitution at(const AffineForm& row, const AffineForm& column) const {
        Substitution here;
        here.replace(rows_.axis.var, first_row() + row);
        here.replace(c_.lane.var, first_column() + column);
        return here;
    }

    /// Terms that do not change with the reduced axes, into registers.
    Body load_held() {
        Body body;
        for (std::size_t i = 0; i < held_.size(); ++i) {
            const Operand& operand = c_.held[i];
            const auto clear = [&](const AffineForm& row) {
                const auto one = [&](const AffineForm& column) {
                    return store_one(held_[i], held_element(operand, row, column),
                                     make_number(operand.term->dtype, 0));
                };
                return operand.has_columns ? over_lanes(kernel_.nest, all_lanes(), one)
                                           : one(form(0));
            };
            const auto load = [&](const AffineForm& row) {
                const auto one = [&](const AffineForm& column, const Value&) {
                    return store_one(held_[i], held_element(operand, row, column),
                                     at(row, column)(operand.term));
                };
                return operand.has_columns ? each_own_column(one) : one(form(0), nullptr);
            };
            // What lies beyond the edges is computed with, and thrown away.
            if (rows_.has_edge() || (columns_.has_edge() && !last_columns_))
                append(body, operand.has_rows ? each_row(clear) : clear(form(0)));
            append(body, operand.has_rows ? each_own_row(load) : load(form(0)));
        }
        return body;
    }
    [[nodiscard]] AffineForm held_element(const Operand& operand, const AffineForm& row,
                                          const AffineForm& column) const {
        if (!operand.has_columns) return row_number(row);
        return operand.has_rows ? accumulator_at(row, column) : column;
    }
    Body store_one(BufferId buffer, const AffineForm& element, const Value& value) {
        Body body;
        const std::vector<Value> values = share(body, {value}, kernel_.next_let);
        body.push_back(make_store(buffer, {element}, values[0]));
        return body;
    }

    Value name(Body& body, const Value& value) {
        body.push_back(make_let(kernel_.next_let, value));
        return make_let_value(kernel_.next_let++, value->dtype);
    }
    /// The reduced points: in the short way where nothing was found that needs the careful one.
    Body depth() {
        if (!nan_makers_ && !mask_needers_) return all_points();
        Body body;
        const DType dtype = kernel_.body->dtype;
        const Value count = name(body, nan_makers_ ? nan_makers_ : mask_needers_);
        const Value is_none =
            name(body, make_operation(Op::eq, {count, make_number(dtype, 0)}, DType::boolean));
        Body quick;
        is_quick_ = true;
        if (nan_makers_ && adds_where_it_compares(builder_.target()))
            quick_one_ =
                name(quick, make_operation(Op::add, {count, make_number(dtype, 1)}, dtype));
        append(quick, all_points());
        quick_one_ = nullptr;
        is_quick_ = false;
        append(body, guarded(is_none, std::move(quick)));
        append(body,
               guarded(make_operation(Op::logical_not, {is_none}, DType::boolean), all_points()));
        return body;
    }

    Body all_points() {
        BeforePoints before(depth_loops_.size());
        prefetch_ahead(kernel_, choice_, runs(), depth_loops_, builder_.target(), before.requests);
        append(before.others[masks_.outer_loops()], set_mask());
        Body body;
        append(depth_test_ ? body : before.requests.back(), prefetch_next());
        append(body, is_paired() ? pair_step() : depth_step());
        std::vector<Axis> rows = choice_.whole_rows;
        rows.push_back({rows_.axis.var, tile_.rows});
        const WrittenOut written{loops_that_share_rows(depth_loops_, row_sources_, rows),
                                 row_conditions_.written_out};
        return over_points(depth_loops_, std::move(before), guarded(depth_test_, std::move(body)),
                           written, builder_.target());
    }

    /// What a tile reads side by side.
    [[nodiscard]] std::vector<TileRun> runs() const {
        std::vector<TileRun> runs;
        const Substitution first = at(form(0), form(0));
        const Axis columns{c_.lane.var, tile_.columns()};
        for (const Source& source : column_sources_)
            add_run(runs, source, form(column_tile_), depth_, first, columns);
        for (const Source& source : row_sources_)
            if (choice_.whole_rows.empty())  // else they stand in several runs
                add_run(runs, source, form(row_tile_), depth_, first, {rows_.axis.var, tile_.rows});
        return runs;
    }

    /// One reduced point: lines of the columns, then row by row.
    Body depth_step() {
        Body body;
        for (const Source& source : column_sources_) {
            const Lanes lanes = all_lanes();
            const bool is_masked = masks_.is_made() && !source.panels;
            append(body, over_lanes(kernel_.nest, lanes, [&](const AffineForm& column) {
                       Body load = store_one(source.line, column,
                                             read(source, column_tile_, form(0), column));
                       if (!is_masked) return load;
                       // Lanes that read nothing are computed with all the same.
                       Body line =
                           store_one(source.line, column, make_number(source.term->dtype, 0));
                       append(line, guarded(is_read(column), std::move(load)));
                       return line;
                   }));
        }
        append(body, each_row([&](const AffineForm& row) { return row_step(row); }));
        return body;
    }

    /// Two reduced points: one instruction an element of the tile, on both operands' own numbers.
    Body pair_step() {
        const auto pair = [&](const Source& source, VarId tile, const AffineForm& element) {
            const AffineForm first = source.panels->at(form(tile), depth_, element);
            return LoadPair{make_load(kernel_.nest, source.buffer, {first}),
                            make_load(kernel_.nest, source.buffer, {first + form(1)})};
        };
        return elements(
            [&](const AffineForm& element, const AffineForm& row, const AffineForm& column) {
                const Value sum = make_pair_product(pair(row_sources_[0], row_tile_, row),
                                                    pair(column_sources_[0], column_tile_, column));
                return combine(kernel_, accumulator_, element, sum, {});
            });
    }

    /// What is read where it stands, in short pieces from far places, is asked for ahead: no
    /// hardware sees a stream in it. Tiles ask for the same of the next product of a batch, else,
    /// with their first rows, for the columns of the next tile.
    Body prefetch_next() {
        const bool is_next_point = columns_.tiles() == 1 && !c_.columns.empty();
        Substitution next = at(form(0), form(is_next_point ? 0 : tile_.columns()));
        if (is_next_point)
            next.replace(c_.columns.back().var, form(c_.columns.back().var) + form(1));
        const SideInPlace columns{column_sources_, c_.lane, tile_.columns()};
        const SideInPlace rows{row_sources_, rows_.axis, tile_.rows};
        const Target& target = builder_.target();
        Body body =
            prefetch_product(kernel_, c_.batch, columns, rows, at(form(0), form(0)), target);
        if (body.empty())
            body = guarded(is_first_tile_, prefetch_far(kernel_, columns, next, target));
        // Of taps side by side the first one asks: the others reach hardly any other lines.
        return guarded(masks_.is_first(), std::move(body));
    }

    /// The operand's value at a row or column of the tile.
    Value read(const Source& source, VarId tile, const AffineForm& row, const AffineForm& column) {
        if (!source.panels) {
            Substitution here = at(row, column);
            return here(source.term);
        }
        return make_load(kernel_.nest, source.buffer,
                         {source.panels->at(form(tile), depth_, row + column)});
    }

    Body row_step(const AffineForm& row) {
        Body body;
        Substitution operands;
        for (const Source& source : row_sources_) {
            const Value term = read(source, row_tile_, row, form(0));
            if (repeated_.has(source.term)) broadcast_anew(kernel_.nest, term);
            operands.replace(source.term, repeated_.has(source.term) ? term : name(body, term));
        }
        append(body, over_lanes(kernel_.nest, all_lanes(), [&](const AffineForm& column) {
                   Substitution here = operands;
                   for (const Source& source : column_sources_)
                       here.replace(source.term, make_load(kernel_.nest, source.line, {column}));
                   for (std::size_t i = 0; i < held_.size(); ++i)
                       here.replace(c_.held[i].term,
                                    make_load(kernel_.nest, held_[i],
                                              {held_element(c_.held[i], row, column)}));
                   Body step;
                   const std::vector<Value> values =
                       share(step, {here(repeated_.body)}, kernel_.next_let);
                   append(step, combine_taken(accumulator_at(row, column), column, values[0]));
                   return step;
               }));
        return guarded(all_hold(row_conditions_.tested, at(row, form(0))), std::move(body));
    }

    /// A lane that is not taken keeps its value: it reads nothing, and adds nothing or, on the
    /// short way, zeros.
    Body combine_taken(const AffineForm& element, const AffineForm& column, const Value& value) {
        const bool is_quick_extremum = is_quick_ && nan_makers_;
        const bool is_masked = !masks_.conditions().empty() && !(is_quick_ && mask_needers_);
        if (!is_masked && !is_quick_extremum)
            return combine(kernel_, accumulator_, element, value, {});
        Body body;
        const Value old = make_load(kernel_.nest, accumulator_.value, {element});
        const Op op = combining_op(accumulator_.reducer, value->dtype);
        const Value next = quick_one_ ? name(body, as_multiply_add(value, quick_one_)) : value;
        Value now = is_quick_extremum ? quick_extremum(accumulator_.reducer, next, old)
                                      : make_operation(op, {old, next}, value->dtype);
        if (is_masked) now = make_operation(Op::select, {is_read(column), now, old}, value->dtype);
        body.push_back(make_store(accumulator_.value, {element}, now));
        return body;
    }

    Body write_tile() {
        if (choice_.flattened) return write_pieces(*choice_.flattened);
        return each_own_row([&](const AffineForm& row) {
            return each_own_column([&](const AffineForm& column, const Value& is_own) {
                Substitution here = at(row, column);
                here.replace_let(0, result(kernel_, accumulator_, accumulator_at(row, column)));
                return guarded(is_own, write_all(kernel_, here));
            });
        });
    }

    /// The tile's results where two axes were flattened: a vector holds pieces of one row of them
    /// or of several, and what lies between rows is left out.
    Body write_pieces(const Flattened& f) {
        Nest& nest = kernel_.nest;
        const BufferId mask = add_registers(nest, "mask", DType::boolean, tile_.lanes);
        const Lanes lanes{tile_.lanes, 1, {}};
        return over_pieces(nest, f, first_column(), all_lanes(), [&](const Piece& piece) {
            Body body = over_lanes(nest, lanes, [&](const AffineForm& lane) {
                const AffineForm at = piece.inner + lane;
                std::vector<AffineForm> conditions = {at, form(f.inner.extent - 1) - at};
                if (last_columns_)
                    conditions.push_back(piece.first + lane - last_columns_->overlap());
                return store_one(mask, lane, all_hold(conditions, Substitution{}));
            });
            append(body, each_own_row([&](const AffineForm& row) {
                       return over_lanes(nest, lanes, [&](const AffineForm& lane) {
                           Substitution here;
                           here.replace(rows_.axis.var, first_row() + row);
                           here.replace(f.outer.var, piece.outer);
                           here.replace(f.inner.var, piece.inner + lane);
                           const AffineForm element = accumulator_at(row, piece.first + lane);
                           here.replace_let(0, result(kernel_, accumulator_, element));
                           return guarded(make_load(nest, mask, {lane}), write_all(kernel_, here));
                       });
                   }));
            return body;
        });
    }

    Kernel kernel_;
    ContractionChoice choice_;
    const Contraction& c_;
    const TileShape& tile_;
    PlanBuilder& builder_;
    Schedule schedule_;
    Tiling rows_;
    Tiling columns_;
    Blocks blocks_;
    std::vector<Source> row_sources_;
    std::vector<Source> column_sources_;
    std::vector<BufferId> held_;
    RepeatedBroadcasts repeated_;
    Accumulator accumulator_;
    /// How much may make a NaN, where maxima and minima may do without looking for it.
    Value nan_makers_;
    /// How much needs masks, where sums may else add zeros in lanes that are not taken.
    Value mask_needers_;
    bool is_quick_ = false;  ///< while the loops are made that do so
    Value quick_one_;        ///< a 1, meanwhile, where sums are to be multiply-adds
    AffineForm depth_;       ///< the line of the panels that is being read
    std::vector<AxisRange> depth_loops_;
    Value depth_test_;
    bool are_conditions_packed_ = false;  ///< panels hold only the points that count
    RowConditions row_conditions_;
    LaneMasks masks_;
    std::optional<LanePlaces> lane_places_;  ///< where two axes were flattened
    std::optional<LastTile> last_rows_;      ///< where that one overlaps the tile before it
    std::optional<LastTile> last_columns_;
    Value is_first_tile_ = nullptr;  ///< of the rows of a block; empty: of one tile
    VarId row_tile_{};
    VarId column_tile_{};
};

}  // namespace

void lower_tiles(const Kernel& kernel, ContractionChoice choice, PlanBuilder& builder,
                 std::vector<Directive> directives) {
    ContractionLowering(kernel, std::move(choice), builder, std::move(directives)).run();
}

}  // namespace ricci::codegen
