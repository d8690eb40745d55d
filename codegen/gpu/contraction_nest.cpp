// codegen/gpu/contraction_nest.cpp – the loops of a contraction's tiles
//
// A block goes over the reduced points a tile at a time. While it computes with one tile in shared
// memory, the next ones are on their way: there are `stages` places for tiles, used in turn, and
// one barrier a tile keeps writers and readers of a place apart. A thread's accumulators stay in
// registers from the first to the last point.
#include "codegen/gpu/contraction_nest.h"

#include <algorithm>
#include <optional>

#include "codegen/gpu/stage_operand.h"
#include "codegen/gpu/threads.h"
#include "codegen/gpu/tile_places.h"
#include "codegen/gpu/tile_results.h"
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
          outer_(c_.batch),
          builder_(builder),
          schedule_{Strategy::contraction, kernel_.nest.name, {}} {
        rows_ = {c_.rows, tile_.rows, {}};
        columns_ = {c_.columns, tile_.columns, {}};
        columns_.axes.push_back(c_.lane);
        if (chunk) outer_.push_back(*chunk);
        depth_ = {kernel_.reduced, tile_.depth};
        tiles_ = {kernel_.reduced, 1};
        tiles_.axes.back().extent = ceil_div(tiles_.axes.back().extent, tile_.depth);
        chunk_tiles_ = chunk ? ceil_div(depth_.tiles(), chunk->extent) : depth_.tiles();
        if (chunk) first_tile_ = form(chunk->var, chunk_tiles_);
        places_ = {.tile = tile_, .fragment = fragment_size()};
    }

    void run() {
        describe_tile();
        add_staged();
        results_.emplace(kernel_, c_, rows_, columns_, places_);
        const std::int64_t blocks = points(outer_) * rows_.tiles() * columns_.tiles();
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

    /// Elements of a shared load: 16 bytes of the widest operand.
    [[nodiscard]] std::int64_t fragment_size() const {
        std::int64_t elements =
            std::min({std::int64_t{4}, tile_.thread_rows, tile_.thread_columns});
        const auto fit = [&](DType dtype) {
            elements = std::min(elements, 16 / std::int64_t(size_bytes(dtype)));
        };
        fit(kernel_.body->dtype);
        for (const auto* operands : {&c_.row_operands, &c_.column_operands})
            for (const Operand& operand : *operands) fit(operand.term->dtype);
        return elements;
    }
    void add_staged() {
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
        staged.fragment = add_registers(kernel_.nest, "part_" + name, term->dtype,
                                        has_rows ? tile_.thread_rows : tile_.thread_columns);
        schedule_.directives.push_back(staged.stage.description());
        staged_.push_back(std::move(staged));
    }
    // Loops.

    Body body(VarId block, VarId thread) {
        Body body = place_block(kernel_.nest, block, outer_, rows_, columns_, schedule_);
        append(body, place_thread(kernel_.nest, thread, places_));
        for (Staged& staged : staged_) append(body, staged.stage.prepare(thread));
        append(body, results_->begin());
        append(body, depth_loops());
        append(body, results_->write());
        return body;
    }

    /// Asynchronous operands are `stages - 1` tiles ahead, those through registers one.
    [[nodiscard]] std::int64_t ahead() const { return stages_ - 1; }
    [[nodiscard]] AffineForm stage_of(Body& body, const char* name, const AffineForm& tile) {
        if (tile.is_constant()) return form(tile.constant % stages_);
        return form(let_var(kernel_.nest, body, name, tile, 1, stages_));
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
            return unrolled(kernel_.nest, "k", unroll_,
                            [&](const AffineForm& point) { return compute(stage, point); });
        const VarId first = kernel_.nest.add(Var{"k0"});
        Body points = unrolled(kernel_.nest, "k", unroll_, [&](const AffineForm& point) {
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
        return unrolled(
            kernel_.nest, "p", elements / places_.fragment, [&](const AffineForm& part) {
                return over_lanes(
                    kernel_.nest, {places_.fragment, 1, {}}, [&](const AffineForm& lane) {
                        const AffineForm place =
                            staged.has_rows ? places_.row(part, lane) : places_.column(part, lane);
                        Body body;
                        body.push_back(make_store(staged.fragment, {places_.fragment * part + lane},
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
        append(body, unrolled(kernel_.nest, "r", tile_.thread_rows, [&](const AffineForm& r) {
                   Body line =
                       unrolled(kernel_.nest, "c", tile_.thread_columns, [&](const AffineForm& c) {
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
        return results_->combine_at(here, r, c);
    }

    Kernel kernel_;
    Contraction c_;
    TileConfig tile_;
    std::int64_t stages_;
    std::int64_t blocks_at_once_;
    std::int64_t unroll_;
    std::optional<Axis> chunk_;
    std::vector<Axis> outer_;  ///< blocks differ in them beside their tiles: batch and chunk
    ThreadPlaces places_;
    PlanBuilder& builder_;
    Schedule schedule_;
    TileSide rows_;
    TileSide columns_;
    TileDepth depth_;
    TileDepth tiles_;               ///< where the innermost axis counts in tiles
    std::int64_t chunk_tiles_ = 0;  ///< tiles of reduced points that a block goes over
    std::vector<Staged> staged_;
    std::optional<std::size_t> row_mask_;
    std::optional<std::size_t> column_mask_;
    std::optional<TileResults> results_;
    bool is_asynchronous_ = false;
    AffineForm first_tile_;  ///< of the block's chunk
};

}  // namespace

void add_contraction(Kernel kernel, Contraction contraction, const TileChoice& choice,
                     const std::optional<Axis>& chunk, PlanBuilder& builder) {
    ContractionNest(std::move(kernel), std::move(contraction), choice, chunk, builder).run();
}

}  // namespace ricci::codegen::gpu
