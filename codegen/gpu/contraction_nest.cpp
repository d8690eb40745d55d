// codegen/gpu/contraction_nest.cpp – the loops of a contraction's tiles
//
// A block goes over the reduced points a tile at a time. While it computes with one tile in shared
// memory, the next ones are on their way: there are `stages` places for tiles, used in turn, and
// one barrier a tile keeps writers and readers of a place apart. A thread's accumulators stay in
// registers from the first to the last point.
//
//   thread tile   parts of `fragment` rows (and columns), each part a distance of all threads'
//                 parts from the next, so that neighbours read neighbouring vectors
//   warp          8 threads along the columns by 4 along the rows, interleaved such that a shared
//                 load of 16 bytes a thread reads each line once
#include "codegen/gpu/contraction_nest.h"

#include <algorithm>
#include <optional>

#include "codegen/gpu/stage_operand.h"
#include "codegen/gpu/threads.h"
#include "codegen/tile.h"

namespace ricci::codegen::gpu {

namespace {

/// An operand, or the mask of a side, in shared memory and in the thread's fragment.
struct Staged {
    Value term;
    bool has_rows = false;
    OperandStage stage;
    BufferId fragment{};
    bool stands_still = false;  ///< a mask that is the same at all points of a tile
};

Value to_number(const Value& condition) {
    return make_operation(Op::select,
                          {condition, make_integer(1, DType::i32), make_integer(0, DType::i32)},
                          DType::i32);
}

class ContractionNest {
  public:
    ContractionNest(Kernel kernel, Contraction contraction, const TileChoice& choice,
                    const std::optional<Axis>& chunk, PlanBuilder& builder)
        : kernel_(std::move(kernel)),
          c_(std::move(contraction)),
          tile_(choice.config),
          stages_(choice.stages),
          blocks_at_once_(choice.blocks_at_once),
          unroll_(choice.unroll == 0 ? choice.config.depth : choice.unroll),
          chunk_(chunk),
          builder_(builder),
          schedule_{Strategy::contraction, kernel_.nest.name, {}} {
        rows_ = {c_.rows, tile_.rows, {}};
        columns_ = {c_.columns, tile_.columns, {}};
        columns_.axes.push_back(c_.lane);
        depth_ = {kernel_.reduced, tile_.depth};
        tiles_ = {kernel_.reduced, 1};
        tiles_.axes.back().extent = ceil_div(tiles_.axes.back().extent, tile_.depth);
        chunk_tiles_ = chunk ? ceil_div(depth_.tiles(), chunk->extent) : depth_.tiles();
    }

    void run() {
        describe_tile();
        add_staged();
        add_registers();
        const std::int64_t blocks = points(c_.batch) * chunks() * row_tiles() * column_tiles();
        schedule_.directives.push_back(
            {"launch", "", {blocks, tile_.threads()}, "blocks, threads"});
        if (blocks_at_once_ > 0)
            schedule_.directives.push_back(
                {"registers", "", {blocks_at_once_}, "for blocks at once"});
        kernel_.nest.blocks_at_once = blocks_at_once_;
        kernel_.nest.body = launch(kernel_.nest, blocks, tile_.threads(),
                                   [&](VarId block, VarId thread) { return body(block, thread); });
        builder_.add_step(std::move(kernel_), std::move(schedule_));
    }

  private:
    [[nodiscard]] std::int64_t row_tiles() const { return ceil_div(rows_.extent(), rows_.width); }
    [[nodiscard]] std::int64_t column_tiles() const {
        return ceil_div(columns_.extent(), columns_.width);
    }
    [[nodiscard]] std::int64_t chunks() const { return chunk_ ? chunk_->extent : 1; }

    void describe_tile() {
        auto& directives = schedule_.directives;
        directives.push_back({"tile",
                              "",
                              {tile_.rows, tile_.columns, tile_.depth},
                              "rows, columns, reduced points of a block"});
        directives.push_back({"tile",
                              "thread",
                              {tile_.thread_rows, tile_.thread_columns},
                              "rows, columns of accumulators"});
        directives.push_back({"stages", "", {stages_}, "tiles in shared memory at once"});
        if (unroll_ != tile_.depth)
            directives.push_back({"unroll", "", {unroll_}, "reduced points of a tile"});
        if (chunk_)
            directives.push_back({"chunks",
                                  "",
                                  {chunk_->extent, chunk_tiles_},
                                  "tiles of a chunk; few blocks else"});
    }

    // Buffers.

    void add_staged() {
        fragment_ = 4;
        const auto fit = [&](DType dtype) {
            fragment_ = std::min(fragment_, 16 / std::int64_t(size_bytes(dtype)));
        };
        fit(kernel_.body->dtype);
        for (const auto* operands : {&c_.row_operands, &c_.column_operands})
            for (const Operand& operand : *operands) fit(operand.term->dtype);
        fragment_ = std::min({fragment_, tile_.thread_rows, tile_.thread_columns});
        // The places of an asynchronous operand stay; one through registers is a tile ahead at
        // most.
        for (const Operand& operand : c_.row_operands)
            add(operand.term, c_.row_condition, true, depth_);
        for (const Operand& operand : c_.column_operands)
            add(operand.term, c_.column_condition, false, depth_);
        row_mask_ = add_mask(c_.row_condition, true);
        column_mask_ = add_mask(c_.column_condition, false);
        for (const Staged& staged : staged_) is_asynchronous_ |= staged.stage.is_asynchronous();
    }
    std::optional<std::size_t> add_mask(const Value& condition, bool has_rows) {
        if (!condition) return std::nullopt;
        const bool moves = depends_on(condition, depth_.axes.back().var);
        const bool stands_still = depth_.is_inside_an_axis() && !moves;
        add(to_number(condition), {}, has_rows, stands_still ? tiles_ : depth_);
        staged_.back().stands_still = stands_still;
        return staged_.size() - 1;
    }
    void add(const Value& term, const Value& condition, bool has_rows, const TileDepth& depth) {
        const std::string name = (has_rows ? "rows" : "columns") +
                                 (staged_.empty() ? "" : std::to_string(staged_.size()));
        Staged staged{term,
                      has_rows,
                      OperandStage(kernel_, {term, condition}, name, has_rows ? rows_ : columns_,
                                   depth, tile_.threads(), stages_),
                      {}};
        staged.fragment = add_registers_of("part_" + name, term->dtype,
                                           has_rows ? tile_.thread_rows : tile_.thread_columns);
        schedule_.directives.push_back(staged.stage.description());
        staged_.push_back(std::move(staged));
    }
    BufferId add_registers_of(const std::string& name, DType dtype, std::int64_t elements) {
        return gpu::add_registers(kernel_.nest, name, dtype, elements);
    }
    void add_registers() {
        accumulator_ = make_accumulator(kernel_, tile_.thread_rows * tile_.thread_columns);
        for (const Operand& operand : c_.held)
            held_.push_back(add_registers_of("held", operand.term->dtype,
                                             (operand.has_rows ? tile_.thread_rows : 1) *
                                                 (operand.has_columns ? tile_.thread_columns : 1)));
    }

    // Places of blocks and threads.

    VarId let_var(Body& body, const std::string& name, const AffineForm& number,
                  std::int64_t divisor, std::int64_t modulus) {
        const VarId var = kernel_.nest.add(Var{name});
        body.push_back(make_let_var(var, number, divisor, modulus));
        return var;
    }

    /// The block's tile: neighbours share rows or columns, which stay in the second-level cache.
    void place_block(VarId block, Body& body) {
        const std::int64_t tiles = row_tiles() * column_tiles();
        const std::int64_t boxes = points(c_.batch) * chunks();
        const VarId tile = let_var(body, "tile", form(block), 1, boxes == 1 ? 0 : tiles);
        const auto largest_divisor = [](std::int64_t n) {
            std::int64_t divisor = std::min<std::int64_t>(8, n);
            while (n % divisor != 0) --divisor;
            return divisor;
        };
        const std::int64_t row_group = largest_divisor(row_tiles());
        const std::int64_t column_group = largest_divisor(column_tiles());
        const bool by_rows = row_group >= column_group;
        const std::int64_t group = by_rows ? row_group : column_group;
        const std::int64_t others = by_rows ? column_tiles() : row_tiles();
        schedule_.directives.push_back(
            {"group", by_rows ? "rows" : "columns", {group}, "tiles that go side by side"});
        const VarId inside = let_var(body, "inside", form(tile), 1, group);
        const VarId other =
            let_var(body, by_rows ? "column_tile" : "row_tile", form(tile), group, others);
        AffineForm grouped = form(inside);
        if (group * others < tiles)
            grouped = grouped + form(let_var(body, "group", form(tile), group * others, 0), group);
        rows_.tile = by_rows ? grouped : form(other);
        columns_.tile = by_rows ? form(other) : grouped;
        std::vector<Axis> outer = c_.batch;
        if (chunk_) outer.push_back(*chunk_);
        AffineForm box;
        if (boxes > 1) box = form(let_var(body, "box", form(block), tiles, 0));
        append(body, name_axes(outer, box));
        first_tile_ = chunk_ ? form(chunk_->var, chunk_tiles_) : form(0);
    }

    void place_thread(VarId thread, Body& body) {
        const std::int64_t across = tile_.columns / tile_.thread_columns;
        const std::int64_t lanes = std::min<std::int64_t>(8, across);
        const std::int64_t high = warp / lanes / 2;
        const VarId low_row = let_var(body, "low_row", form(thread), 1, 2);
        const VarId column = let_var(body, "lane_column", form(thread), 2, lanes);
        const VarId high_row = let_var(body, "high_row", form(thread), 2 * lanes, high);
        const VarId warp_column = let_var(body, "warp_column", form(thread), warp, across / lanes);
        const VarId warp_row = let_var(body, "warp_row", form(thread), warp * (across / lanes), 0);
        own_row_ = form(low_row) + form(high_row, 2) + form(warp_row, warp / lanes);
        own_column_ = form(column) + form(warp_column, lanes);
    }

    /// The place in the tile of element `e` of part `part` of a thread's rows or columns.
    [[nodiscard]] AffineForm row(const AffineForm& part, const AffineForm& e) const {
        const std::int64_t distance = tile_.rows / tile_.thread_rows * fragment_;
        return distance * part + fragment_ * own_row_ + e;
    }
    [[nodiscard]] AffineForm column(const AffineForm& part, const AffineForm& e) const {
        const std::int64_t distance = tile_.columns / tile_.thread_columns * fragment_;
        return distance * part + fragment_ * own_column_ + e;
    }

    // Loops.

    template <class Make>
    Body unrolled(const char* name, std::int64_t count, const Make& make) {
        if (count == 1) return make(form(0));
        const VarId var = kernel_.nest.add(Var{name});
        Body inner = make(form(var));
        Body loop;
        loop.push_back(make_loop(var, Bind::unroll, count, std::move(inner)));
        return loop;
    }
    template <class Make>
    Body lanes(std::int64_t count, const Make& make) {
        return over_lanes(kernel_.nest, {count, 1, {}}, make);
    }

    Body body(VarId block, VarId thread) {
        Body body;
        place_block(block, body);
        place_thread(thread, body);
        for (Staged& staged : staged_) append(body, staged.stage.prepare(thread));
        append(body,
               unrolled("e", tile_.thread_rows * tile_.thread_columns,
                        [&](const AffineForm& e) { return reset(kernel_, accumulator_, e); }));
        append(body, load_held());
        append(body, depth_loops());
        append(body, write_tile());
        return body;
    }

    /// Asynchronous operands are `stages - 1` tiles ahead, those through registers one.
    [[nodiscard]] std::int64_t ahead() const { return stages_ - 1; }
    [[nodiscard]] AffineForm stage_of(Body& body, const char* name, const AffineForm& tile) {
        if (tile.is_constant()) return form(tile.constant % stages_);
        return form(let_var(body, name, tile, 1, stages_));
    }

    Body depth_loops() {
        Body body = first_tiles();
        const VarId kt = kernel_.nest.add(Var{"t"});
        LoopBound upper = bound(std::min(chunk_tiles_, depth_.whole_tiles()));
        if (chunk_) upper = with(upper, form(depth_.whole_tiles()) - first_tile_);
        Body step = one_tile(kt);
        body.push_back(make_loop(kt, Bind::serial, bound(0), upper, std::move(step)));
        if (depth_.rest() != 0) append(body, last_points());
        return body;
    }

    Body first_tiles() {
        Body body;
        if (is_asynchronous_)
            for (std::int64_t t = 0; t < ahead(); ++t) {
                append(body, if_tile(form(t), fetch(form(t), form(t % stages_), true)));
                body.push_back({Commit{}});
            }
        append(body, fetch(form(0), form(0), false));
        append(body, put(form(0), form(0)));
        return body;
    }

    Body one_tile(VarId kt) {
        Body body;
        const AffineForm stage = stage_of(body, "stage", form(kt));
        if (is_asynchronous_) body.push_back({Wait{ahead() - 1}});
        body.push_back({Barrier{}});
        if (is_asynchronous_) {
            const AffineForm tile = form(kt) + form(ahead());
            const AffineForm next = stage_of(body, "next_stage", tile);
            append(body, if_tile(tile, fetch(tile, next, true)));
            body.push_back({Commit{}});
        }
        const AffineForm tile = form(kt) + form(1);
        append(body, if_tile(tile, fetch(tile, {}, false)));
        append(body, load_fragments(stage, form(0), true));
        append(body, points_of_tile(stage));
        if (has_registers()) {
            const AffineForm next = stage_of(body, "put_stage", tile);
            append(body, if_tile(tile, put(tile, next)));
        }
        return body;
    }

    Body points_of_tile(const AffineForm& stage) {
        if (unroll_ == depth_.step)
            return unrolled("k", unroll_,
                            [&](const AffineForm& point) { return compute(stage, point); });
        const VarId first = kernel_.nest.add(Var{"k0"});
        Body points = unrolled("k", unroll_, [&](const AffineForm& point) {
            return compute(stage, form(first) + point);
        });
        Body loop;
        loop.push_back(make_loop(first, Bind::serial, bound(0), bound(depth_.step),
                                 std::move(points), unroll_));
        return loop;
    }

    /// The points of the last tile, when it is not a whole one.
    Body last_points() {
        Body body;
        if (is_asynchronous_) body.push_back({Wait{0}});
        body.push_back({Barrier{}});
        const AffineForm tile = form(depth_.whole_tiles()) - first_tile_;
        const AffineForm stage = stage_of(body, "last_stage", tile);
        const VarId k = kernel_.nest.add(Var{"k"});
        LoopBound upper = bound(depth_.rest());
        // No points but in the chunk that the tile belongs to.
        if (chunk_)
            upper = with(upper, depth_.step * (first_tile_ + form(chunk_tiles_) -
                                               form(depth_.whole_tiles())));
        body.push_back(make_loop(k, Bind::serial, bound(0), upper, compute(stage, form(k))));
        return body;
    }

    [[nodiscard]] bool has_registers() const {
        return std::ranges::any_of(
            staged_, [](const Staged& staged) { return !staged.stage.is_asynchronous(); });
    }
    Body fetch(const AffineForm& tile, const AffineForm& stage, bool asynchronous) {
        Body body;
        for (Staged& staged : staged_)
            if (staged.stage.is_asynchronous() == asynchronous)
                append(body, staged.stage.fetch(first_tile_ + tile, stage));
        return body;
    }
    Body put(const AffineForm& tile, const AffineForm& stage) {
        Body body;
        for (Staged& staged : staged_) append(body, staged.stage.put(first_tile_ + tile, stage));
        return body;
    }
    /// Where the chunk has that tile, counted from its first.
    Body if_tile(const AffineForm& tile, Body body) {
        if (body.empty()) return body;
        Value has_tile;
        if (!tile.is_constant() || tile.constant >= chunk_tiles_)
            has_tile = is_below(tile, chunk_tiles_);
        if (chunk_ && depth_.tiles() % chunk_tiles_ != 0)
            has_tile = both(has_tile, is_below(first_tile_ + tile, depth_.tiles()));
        return guarded(has_tile, std::move(body));
    }

    // One reduced point.

    Body load_fragment(const Staged& staged, const AffineForm& stage, const AffineForm& point) {
        const std::int64_t elements = staged.has_rows ? tile_.thread_rows : tile_.thread_columns;
        return unrolled("p", elements / fragment_, [&](const AffineForm& part) {
            return lanes(fragment_, [&](const AffineForm& lane) {
                const AffineForm place = staged.has_rows ? row(part, lane) : column(part, lane);
                Body body;
                body.push_back(make_store(staged.fragment, {fragment_ * part + lane},
                                          staged.stage.element(stage, point, place)));
                return body;
            });
        });
    }

    /// Those that stand still in a tile, or the others.
    Body load_fragments(const AffineForm& stage, const AffineForm& point, bool stand_still) {
        Body body;
        for (const Staged& staged : staged_)
            if (staged.stands_still == stand_still)
                append(body, load_fragment(staged, stage, point));
        return body;
    }

    [[nodiscard]] Value is_counted(const Staged& mask, const AffineForm& element) const {
        return make_operation(
            Op::ne,
            {make_load(kernel_.nest, mask.fragment, {element}), make_integer(0, DType::i32)},
            DType::boolean);
    }

    Body compute(const AffineForm& stage, const AffineForm& point) {
        Body body;
        append(body, load_fragments(stage, point, false));
        append(body, unrolled("r", tile_.thread_rows, [&](const AffineForm& r) {
                   Body line = unrolled("c", tile_.thread_columns, [&](const AffineForm& c) {
                       Body update = combine_at(r, c);
                       if (!column_mask_) return update;
                       return guarded(is_counted(staged_[*column_mask_], c), std::move(update));
                   });
                   if (!row_mask_) return line;
                   return guarded(is_counted(staged_[*row_mask_], r), std::move(line));
               }));
        return body;
    }

    Body combine_at(const AffineForm& r, const AffineForm& c) {
        Substitution here;
        for (const Staged& staged : staged_)
            here.replace(staged.term,
                         make_load(kernel_.nest, staged.fragment, {staged.has_rows ? r : c}));
        for (std::size_t i = 0; i < held_.size(); ++i)
            here.replace(c_.held[i].term,
                         make_load(kernel_.nest, held_[i], {held_element(c_.held[i], r, c)}));
        Body body;
        const std::vector<Value> values = share(body, {here(c_.body)}, kernel_.next_let);
        append(body, combine(kernel_, accumulator_, tile_.thread_columns * r + c, values[0], {}));
        return body;
    }
    [[nodiscard]] AffineForm held_element(const Operand& operand, const AffineForm& r,
                                          const AffineForm& c) const {
        if (!operand.has_columns) return operand.has_rows ? r : form(0);
        return operand.has_rows ? tile_.thread_columns * r + c : c;
    }

    // Results.

    /// Names the rows or columns at a place of the tile, and tells where there are such.
    Value name_place(const TileSide& side, const AffineForm& place, std::int64_t step,
                     const AffineForm& lane, Body& names, Substitution& here) {
        // `place` is a multiple of `step`; so is the width of a tile.
        AffineForm number{.constant = place.constant / step};
        for (const AffineForm::Term& term : place.terms)
            number = number + form(term.var, term.coefficient / step);
        number = number + (side.width / step) * side.tile;
        const std::vector<Axis> axes = side.axes;
        name_point(kernel_.nest, axes, {.number = number, .lanes = step, .lane = lane}, names,
                   here);
        if (!side.has_edge()) return nullptr;
        return is_below(side.width * side.tile + place, side.extent());
    }

    /// Elements of a store: a fragment where every write along the columns is known to be aligned.
    [[nodiscard]] std::int64_t write_lanes() const {
        if (columns_.axes.back().extent % fragment_ != 0) return 1;
        for (const Store& write : kernel_.writes) {
            const bool is_aligned =
                !write.at.computed && write.at.affine.coefficient(c_.lane.var) == 1 &&
                known_divisor(kernel_.nest, write.buffer, write.at.affine, c_.lane.var) %
                        fragment_ ==
                    0;
            if (!is_aligned) return 1;
        }
        return fragment_;
    }

    /// A body for each of the thread's rows and columns that there are, columns outside.
    template <class Make>
    Body each_place(std::int64_t step, bool has_rows, bool has_columns, const Make& make) {
        const auto each_row = [&](const Substitution& at_column, const AffineForm& c) {
            if (!has_rows) {
                Substitution here = at_column;
                return make(here, form(0), c);
            }
            return unrolled("p", tile_.thread_rows / fragment_, [&](const AffineForm& part) {
                return unrolled("r", fragment_, [&](const AffineForm& r) {
                    Body body;
                    Substitution here = at_column;
                    const Value is_row = name_place(rows_, row(part, r), 1, {}, body, here);
                    append(body, guarded(is_row, make(here, fragment_ * part + r, c)));
                    return body;
                });
            });
        };
        if (!has_columns) return each_row(Substitution{}, form(0));
        return unrolled("q", tile_.thread_columns / fragment_, [&](const AffineForm& part) {
            return unrolled("s", fragment_ / step, [&](const AffineForm& s) {
                Body body;
                Substitution here;
                const AffineForm place = column(part, step * s);
                // The lane's offset is put behind the axis by whoever loops over lanes.
                const Value is_column = name_place(columns_, place, step, {}, body, here);
                append(body, guarded(is_column, each_row(here, fragment_ * part + step * s)));
                return body;
            });
        });
    }

    /// Terms that do not change with the reduced axes, into registers. Beyond the edges it is 0
    /// that is computed with.
    Body load_held() {
        Body body;
        for (std::size_t i = 0; i < held_.size(); ++i) {
            const Operand& operand = c_.held[i];
            const bool has_edge = (operand.has_rows && rows_.has_edge()) ||
                                  (operand.has_columns && columns_.has_edge());
            if (has_edge)
                append(body,
                       unrolled("e", kernel_.nest.at(held_[i]).elements, [&](const AffineForm& e) {
                           Body zero;
                           zero.push_back(
                               make_store(held_[i], {e}, make_number(operand.term->dtype, 0)));
                           return zero;
                       }));
            append(body,
                   each_place(1, operand.has_rows, operand.has_columns,
                              [&](Substitution& here, const AffineForm& r, const AffineForm& c) {
                                  Body load;
                                  const std::vector<Value> values =
                                      share(load, {here(operand.term)}, kernel_.next_let);
                                  load.push_back(make_store(held_[i], {held_element(operand, r, c)},
                                                            values[0]));
                                  return load;
                              }));
        }
        return body;
    }

    Body write_tile() {
        const std::int64_t step = write_lanes();
        return each_place(step, true, true,
                          [&](const Substitution& place, const AffineForm& r, const AffineForm& c) {
                              return lanes(step, [&](const AffineForm& lane) {
                                  Substitution here = place;
                                  here.replace(c_.lane.var, place(form(c_.lane.var)) + lane);
                                  here.replace_let(0, result(kernel_, accumulator_,
                                                             tile_.thread_columns * r + c + lane));
                                  return write_all(kernel_, here);
                              });
                          });
    }

    Kernel kernel_;
    Contraction c_;
    TileConfig tile_;
    std::int64_t stages_;
    std::int64_t blocks_at_once_;
    std::int64_t unroll_;
    std::optional<Axis> chunk_;
    PlanBuilder& builder_;
    Schedule schedule_;
    TileSide rows_;
    TileSide columns_;
    TileDepth depth_;
    TileDepth tiles_;               ///< where the innermost axis counts in tiles
    std::int64_t chunk_tiles_ = 0;  ///< tiles of reduced points that a block goes over
    std::int64_t fragment_ = 4;     ///< elements of a shared load
    std::vector<Staged> staged_;
    std::optional<std::size_t> row_mask_;
    std::optional<std::size_t> column_mask_;
    std::vector<BufferId> held_;
    Accumulator accumulator_;
    bool is_asynchronous_ = false;
    AffineForm first_tile_;  ///< of the block's chunk
    AffineForm own_row_;     ///< the thread's place among those of a tile
    AffineForm own_column_;
};

}  // namespace

void add_contraction(Kernel kernel, Contraction contraction, const TileChoice& choice,
                     const std::optional<Axis>& chunk, PlanBuilder& builder) {
    ContractionNest(std::move(kernel), std::move(contraction), choice, chunk, builder).run();
}

}  // namespace ricci::codegen::gpu
