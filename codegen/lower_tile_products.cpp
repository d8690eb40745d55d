// codegen/lower_tile_products.cpp – products of tiles of bf16 numbers: copies, blocks, results
//
// A task is a block of tiles. The reduced points are cut into chunks whose part of the columns'
// panel stays in the first-level cache while all tiles of rows read it; sums stand in scratch from
// chunk to chunk. Where f32 numbers were taken as pieces, a row with a sum that is infinite or NaN
// is computed again from the numbers themselves: pieces of infinities are none.
#include <algorithm>

#include "base/integer.h"
#include "codegen/bf16_pieces.h"
#include "codegen/kernel_work.h"
#include "codegen/nest_build.h"
#include "codegen/pack.h"
#include "codegen/pair_products.h"
#include "codegen/tasks.h"
#include "codegen/tile.h"
#include "codegen/tile_products.h"

namespace ricci::codegen {

namespace {

constexpr std::int64_t bf16_bytes = 2;
/// Of the first-level cache: what panels of columns take.
constexpr std::int64_t panel_bytes = 32 << 10;
/// Tiles of a task, at most, whose sums take 256 KiB of its stack: half as many take a tenth
/// longer. Fewer where there would be few tasks.
constexpr std::int64_t most_row_tiles = 8;
constexpr std::int64_t most_column_tiles = 8;
constexpr std::int64_t enough_tasks = 16;

class TileProductLowering {
  public:
    TileProductLowering(const Kernel& kernel, TiledProduct product, PlanBuilder& builder)
        : kernel_(kernel),
          product_(std::move(product)),
          c_(product_.contraction),
          rows_(product_.shape.rows),
          columns_(product_.shape.columns),
          builder_(builder) {
        schedule_ = {Strategy::contraction, kernel.nest.name, work_of(kernel)};
        is_split_ = product_.row_pieces > 1 || product_.column_pieces > 1;
    }

    void run() {
        describe();
        original_reduced_ = kernel_.reduced;
        kernel_.reduced = product_.reduced;
        place_rows();
        place_columns();
        row_tile_ = {kernel_.nest.add(Var{"row_tile"}), ceil_div(product_.row_axis.extent, rows_)};
        column_tile_ = {kernel_.nest.add(Var{"column_tile"}), ceil_div(c_.lane.extent, columns_)};
        kernel_.nest.asks_ahead = true;
        kernel_.nest.body = task_loops();
        builder_.add_step(std::move(kernel_), std::move(schedule_));
    }

  private:
    void describe() {
        const auto name = [&](const Axis& axis) { return kernel_.nest.at(axis.var).name; };
        auto& directives = schedule_.directives;
        if (is_split_)
            directives.push_back(
                {"split",
                 "f32",
                 {std::int64_t(product_.row_pieces), std::int64_t(product_.column_pieces),
                  std::int64_t(product_.products().size())},
                 "bf16 pieces of rows and of columns, products: " +
                     std::string(ricci::name(builder_.target().precision)) + " is allowed"});
        directives.push_back({"tile", name(product_.row_axis), {rows_}, "rows of tile registers"});
        directives.push_back({"tile", name(c_.lane), {columns_}, "columns of tile registers"});
        directives.push_back({"tile",
                              name(product_.reduced.back()),
                              {block_points},
                              "points of one instruction on tiles of bf16"});
    }

    // Operands.

    [[nodiscard]] std::int64_t depth() const { return product_.depth(); }
    [[nodiscard]] bool has_whole_blocks() const {
        return product_.reduced.back().extent % block_points == 0;
    }
    static std::vector<Value> pieces(const Value& term, std::size_t count) {
        if (const Value bf16 = unconverted(term)) return {bf16};
        return bf16_pieces(term, count);
    }
    /// The axes of an operand from the longest step of what it reads to the shortest; of equal ones
    /// that of lanes last.
    [[nodiscard]] std::vector<Axis> in_order_of_memory(const Value& term) const {
        std::vector<Axis> axes = axes_of(kernel_, term);
        if (const auto* load = std::get_if<Load>(&term->term))
            std::ranges::stable_sort(axes, std::greater<>(), [&](const Axis& axis) {
                const std::int64_t step = std::abs(load->at.affine.coefficient(axis.var));
                return std::pair(step, axis != c_.lane);
            });
        return axes;
    }
    [[nodiscard]] bool is_reduced(const Axis& axis) const {
        return std::ranges::find(product_.reduced, axis) != product_.reduced.end();
    }

    /// Rows whose points stand side by side: where they are, or in a copy.
    void place_rows() {
        const Value& term = c_.row_operands[0].term;
        const auto bf16 = pieces(term, product_.row_pieces);
        if (may_rows_stay(product_)) {
            const auto& load = std::get<Load>(bf16[0]->term);
            schedule_.directives.push_back({"direct", "rows", {}, "points are neighbours"});
            row_sides_ = {{load.buffer, load.at.affine,
                           load.at.affine.coefficient(product_.row_axis.var), block_points}};
            return;
        }
        std::vector<PlacedAxis> axes;
        std::int64_t step = 1;
        const auto place = [&](const Axis& axis, std::int64_t extent) {
            axes.insert(axes.begin(), {axis, step, extent});
            step *= extent;
        };
        for (std::size_t i = product_.reduced.size(); i-- > 0;) {
            const Axis& axis = product_.reduced[i];
            const bool is_last = i + 1 == product_.reduced.size();
            place(axis, is_last ? filled(axis.extent) : axis.extent);
        }
        // An odd number of lines: rows do not meet in one set of the first-level cache.
        step = step / block_points | 1;
        step *= block_points;
        const std::int64_t pitch = step;
        place(product_.row_axis, ceil_div(product_.row_axis.extent, rows_) * rows_);
        for (const Axis& axis : axes_of(kernel_, term))
            if (!is_reduced(axis) && axis != product_.row_axis) place(axis, axis.extent);
        const PieceArrays arrays = place_pieces(kernel_, bf16, std::move(axes), step,
                                                kernel_.nest.name + "_rows", builder_);
        const BufferId buffer = kernel_.argument(builder_.plan(), arrays.place, false);
        for (std::size_t p = 0; p < bf16.size(); ++p)
            row_sides_.push_back({buffer, at_first_point(arrays.at(p)), pitch, block_points});
        schedule_.directives.push_back({"copy", "rows", {pitch}, "elements from row to row"});
    }
    /// Panels of pairs of points; numbers that are split, or whose points do not fill blocks, are
    /// copied first.
    void place_columns() {
        const Value& term = c_.column_operands[0].term;
        std::vector<Value> bf16 = pieces(term, product_.column_pieces);
        if (bf16.size() > 1 || !has_whole_blocks()) {
            std::vector<PlacedAxis> axes;
            std::int64_t step = 1;
            const std::vector<Axis> order = in_order_of_memory(bf16.size() == 1 ? bf16[0] : term);
            for (std::size_t i = order.size(); i-- > 0;) {
                const bool is_last = order[i] == product_.reduced.back();
                const std::int64_t extent = is_last ? filled(order[i].extent) : order[i].extent;
                axes.insert(axes.begin(), {order[i], step, extent});
                step *= extent;
            }
            const PieceArrays arrays = place_pieces(
                kernel_, bf16, std::move(axes), step,
                kernel_.nest.name + (bf16.size() > 1 ? "_pieces" : "_filled"), builder_);
            const BufferId buffer = kernel_.argument(builder_.plan(), arrays.place, false);
            for (std::size_t p = 0; p < bf16.size(); ++p)
                bf16[p] = make_load(kernel_.nest, buffer, {arrays.at(p)});
        }
        Kernel packed = kernel_;
        Axis& last = packed.reduced.back();
        last.extent = filled(last.extent);
        for (std::size_t p = 0; p < bf16.size(); ++p) {
            std::string name = kernel_.nest.name + "_columns";
            if (bf16.size() > 1) name += std::to_string(p);
            const Panels panels = pack(packed, bf16[p], c_.batch, {c_.columns, c_.lane, columns_},
                                       Side::columns, Pairing::pairs, name, builder_);
            panels_.push_back(panels);
            panel_buffers_.push_back(kernel_.argument(builder_.plan(), panels.place, false));
        }
    }
    [[nodiscard]] AffineForm at_first_point(const AffineForm& place) const {
        Substitution first;
        for (const Axis& axis : product_.reduced) first.replace(axis.var, form(0));
        return first(place);
    }

    // Loops.

    [[nodiscard]] std::pair<std::int64_t, std::int64_t> tiles_of_task() const {
        std::int64_t rows = most_row_tiles;
        std::int64_t columns = most_column_tiles;
        while (rows * columns > 1 && product_.tiles < enough_tasks * rows * columns)
            (columns >= rows ? columns : rows) /= 2;
        return {rows, columns};
    }
    /// Tiles along one side of a task.
    struct Block {
        Axis blocks;             ///< tasks along this side
        AxisRange tiles;         ///< of a block: some may be missing in the last one
        std::int64_t count = 0;  ///< of tiles
    };
    Block block(const Axis& tiles, std::int64_t most, const char* name) {
        const std::int64_t blocks = ceil_div(tiles.extent, most);
        const std::int64_t count = ceil_div(tiles.extent, blocks);
        const Axis axis{kernel_.nest.add(Var{name}), ceil_div(tiles.extent, count)};
        const AxisRange range{tiles, bound(form(axis.var, count)),
                              with(bound(tiles.extent), form(axis.var, count) + form(count))};
        return {axis, range, count};
    }
    /// The loops over tasks from the outermost: those that share columns are neighbours.
    [[nodiscard]] std::vector<Axis> task_axes(const Block& rows, const Block& columns) const {
        std::vector<Axis> order = c_.batch;
        order.insert(order.end(), c_.columns.begin(), c_.columns.end());
        order.push_back(columns.blocks);
        for (const Axis& axis : c_.rows)
            if (axis != product_.row_axis) order.push_back(axis);
        order.push_back(rows.blocks);
        return order;
    }
    /// Blocks of points whose columns stay in the first-level cache.
    [[nodiscard]] std::int64_t blocks_of_chunk() const {
        const std::int64_t block_bytes =
            bf16_bytes * columns_ * block_points * std::int64_t(product_.column_pieces);
        const std::int64_t most = std::max<std::int64_t>(panel_bytes / block_bytes, 1);
        return ceil_div(product_.blocks(), ceil_div(product_.blocks(), most));
    }
    Body task_loops() {
        Nest& nest = kernel_.nest;
        const auto [most_rows, most_columns] = tiles_of_task();
        const Block rows = block(row_tile_, most_rows, "row_block");
        const Block columns = block(column_tile_, most_columns, "column_block");
        const double task_cycles =
            product_.shape.cycles * double(product_.blocks() * rows.count * columns.count);
        const TaskSplit split = split_tasks(kernel_, task_axes(rows, columns), 1, task_cycles);

        const std::int64_t chunk_blocks = blocks_of_chunk();
        const Axis chunk{nest.add(Var{"chunk"}), ceil_div(product_.blocks(), chunk_blocks)};
        place_sums(rows, columns, chunk.extent > 1);
        auto& directives = schedule_.directives;
        directives.push_back({"block", "", {rows.count, columns.count}, "tiles of a task"});
        directives.push_back({"chunk",
                              "",
                              {chunk.extent, chunk_blocks * block_points},
                              "points whose columns stay in the first-level cache"});
        directives.push_back({"parallel", "", {split.tasks}, "by extents alone"});
        return parallel(split, wrap(split.loops, tiles(rows, columns, chunk, chunk_blocks)));
    }
    /// Sums of all tiles of a task where they stay from chunk to chunk, else of one.
    void place_sums(const Block& rows, const Block& columns, bool has_chunks) {
        const std::int64_t tiles = has_chunks ? rows.count * columns.count : 1;
        sums_ = add_scratch(kernel_.nest, "sums", DType::f32, tiles * rows_ * columns_);
        if (tiles == 1) return;
        const AffineForm row = form(row_tile_.var) - rows.tiles.lower[0].form;
        const AffineForm column = form(column_tile_.var) - columns.tiles.lower[0].form;
        sums_at_ = rows_ * columns_ * (rows.count * column + row);
    }
    /// All tiles of a task.
    Body tiles(const Block& rows, const Block& columns, const Axis& chunk,
               std::int64_t chunk_blocks) {
        const std::vector<AxisRange> each = {columns.tiles, rows.tiles};
        if (chunk.extent == 1) {
            Body body = product(form(0), bound(chunk_blocks), false);
            append(body, finish_tile());
            return wrap(each, std::move(body));
        }
        const AffineForm first = form(chunk.var, chunk_blocks);
        const LoopBound blocks = with(bound(chunk_blocks), form(product_.blocks()) - first);
        const auto is = [&](Op op) {
            return make_operation(op, {make_index(form(chunk.var)), make_integer(0)},
                                  DType::boolean);
        };
        Body products = guarded(is(Op::eq), product(first, blocks, false));
        append(products, guarded(is(Op::gt), product(first, blocks, true)));
        Body body = wrap({{chunk, bound(0), bound(chunk.extent)}, columns.tiles, rows.tiles},
                         std::move(products));
        append(body, wrap(each, finish_tile()));
        return body;
    }

    [[nodiscard]] AffineForm first_row() const { return form(row_tile_.var, rows_); }
    [[nodiscard]] AffineForm first_column() const { return form(column_tile_.var, columns_); }

    /// The products of a tile, from a block of points on.
    Body product(const AffineForm& first_block, const LoopBound& blocks, bool adds) {
        const AffineForm k = block_points * first_block;
        Substitution first;
        first.replace(product_.row_axis.var, first_row());
        if (product_.reduced.size() == 1) first.replace(product_.reduced[0].var, form(0));
        TileProduct tile{.sum = sums_,
                         .at = sums_at_,
                         .row_step = columns_,
                         .rows = rows_,
                         .columns = columns_,
                         .row_sides = {},
                         .column_sides = {},
                         .products = product_.products(),
                         .blocks = blocks,
                         .adds = adds};
        for (const TileSide& side : row_sides_)
            tile.row_sides.push_back({side.buffer, first(side.at) + k, side.step, side.block_step});
        for (std::size_t p = 0; p < panels_.size(); ++p)
            tile.column_sides.push_back({panel_buffers_[p],
                                         panels_[p].at(form(column_tile_.var), k, form(0)),
                                         2 * columns_, block_points * columns_});
        Body body;
        body.push_back({std::move(tile)});
        return body;
    }

    // Results.

    [[nodiscard]] Lanes lanes(const Kernel& kernel) const {
        const std::int64_t lanes = std::min(codegen::lanes(kernel, builder_.target()), columns_);
        return {lanes, columns_ / lanes, {}};
    }
    [[nodiscard]] Lanes inside() const {
        Lanes all = lanes(kernel_);
        if (c_.lane.extent % columns_ != 0)
            all.limit = bound(form(c_.lane.extent) - first_column());
        return all;
    }
    /// The body for each row that there is.
    template <class Make>
    Body over_rows(const Make& make) {
        const VarId row = kernel_.nest.add(Var{"row"});
        LoopBound upper = bound(rows_);
        if (product_.row_axis.extent % rows_ != 0)
            upper = with(upper, form(product_.row_axis.extent) - first_row());
        Body body;
        body.push_back(make_loop(row, Bind::serial, bound(0), upper, make(form(row))));
        return body;
    }
    [[nodiscard]] Substitution at(const AffineForm& row, const AffineForm& column) const {
        Substitution here;
        here.replace(product_.row_axis.var, first_row() + row);
        here.replace(c_.lane.var, first_column() + column);
        return here;
    }
    [[nodiscard]] AffineForm sum_at(const AffineForm& row, const AffineForm& column) const {
        return sums_at_ + columns_ * row + column;
    }
    [[nodiscard]] Value sum(const AffineForm& row, const AffineForm& column) const {
        return make_load(kernel_.nest, sums_, {sum_at(row, column)});
    }

    Body finish_tile() {
        Body body;
        if (is_split_) body = mend_tile();
        append(body, over_rows([&](const AffineForm& row) {
                   return over_lanes(kernel_.nest, inside(), [&](const AffineForm& column) {
                       Substitution here = at(row, column);
                       here.replace_let(0, sum(row, column));
                       return write_all(kernel_, here);
                   });
               }));
        return body;
    }

    /// Looks at all sums of the tile together, then row by row.
    Body mend_tile() {
        const BufferId zeros = add_registers(kernel_.nest, "zeros", DType::f32, columns_);
        const BufferId zero = add_registers(kernel_.nest, "zero", DType::f32, 1);
        Body body = set_zeros(zeros);
        append(body, over_rows([&](const AffineForm& row) { return add_zeros(zeros, row); }));
        append(body, if_not_finite(zeros, zero, in_f32(zeros, zero)));
        return body;
    }
    /// The rows with a sum that is no number.
    Body in_f32(BufferId zeros, BufferId zero) {
        Nest& nest = kernel_.nest;
        const Accumulator accumulator = make_accumulator(kernel_, columns_);
        std::vector<AxisRange> points;
        for (const Axis& axis : original_reduced_)
            points.push_back({axis, bound(0), bound(axis.extent)});
        return over_rows([&](const AffineForm& row) {
            Body again = over_lanes(nest, lanes(kernel_), [&](const AffineForm& column) {
                return reset(kernel_, accumulator, column);
            });
            append(again, wrap(points, over_lanes(nest, inside(), [&](const AffineForm& column) {
                                   Substitution here = at(row, column);
                                   return update(kernel_, accumulator, column, here);
                               })));
            append(again, over_lanes(nest, lanes(kernel_), [&](const AffineForm& column) {
                       return store(sums_, sum_at(row, column),
                                    result(kernel_, accumulator, column));
                   }));
            Body body = set_zeros(zeros);
            append(body, add_zeros(zeros, row));
            append(body, if_not_finite(zeros, zero, std::move(again)));
            return body;
        });
    }
    static Body store(BufferId buffer, const AffineForm& at, const Value& value,
                      bool adds = false) {
        Body body;
        body.push_back(
            make_store(buffer, {at}, value, adds ? std::optional(Reducer::sum) : std::nullopt));
        return body;
    }
    Body set_zeros(BufferId zeros) {
        return over_lanes(kernel_.nest, lanes(kernel_), [&](const AffineForm& column) {
            return store(zeros, column, make_number(DType::f32, 0));
        });
    }
    /// Sums times 0: NaN where one is infinite or NaN.
    Body add_zeros(BufferId zeros, const AffineForm& row) {
        return over_lanes(kernel_.nest, lanes(kernel_), [&](const AffineForm& column) {
            return store(
                zeros, column,
                make_operation(Op::mul, {sum(row, column), make_number(DType::f32, 0)}, DType::f32),
                true);
        });
    }
    Body if_not_finite(BufferId zeros, BufferId zero, Body then) {
        Nest& nest = kernel_.nest;
        Body body = store(zero, form(0), make_number(DType::f32, 0));
        append(body, over_lanes(nest, lanes(kernel_), [&](const AffineForm& column) {
                   return store(zero, form(0), make_load(nest, zeros, {column}), true);
               }));
        const Value found = make_load(nest, zero, {form(0)});
        append(body,
               guarded(make_operation(Op::ne, {found, found}, DType::boolean), std::move(then)));
        return body;
    }

    Kernel kernel_;
    TiledProduct product_;
    const Contraction& c_;
    std::int64_t rows_;     ///< of a tile
    std::int64_t columns_;  ///< of a tile
    PlanBuilder& builder_;
    Schedule schedule_;
    bool is_split_ = false;
    std::vector<Axis> original_reduced_;
    std::vector<TileSide> row_sides_;  ///< at the first reduced point of the axes' rows
    std::vector<Panels> panels_;       ///< of the columns, by piece
    std::vector<BufferId> panel_buffers_;
    Axis row_tile_;
    Axis column_tile_;
    BufferId sums_{};
    AffineForm sums_at_;  ///< of this tile
};

}  // namespace

void lower_tiled_product(const Kernel& kernel, TiledProduct product, PlanBuilder& builder) {
    TileProductLowering(kernel, std::move(product), builder).run();
}

}  // namespace ricci::codegen
