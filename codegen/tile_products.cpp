// codegen/tile_products.cpp – which contractions are products of tiles, and what that costs
#include "codegen/tile_products.h"

#include <algorithm>
#include <limits>

#include "base/integer.h"
#include "codegen/nest_build.h"
#include "codegen/nest_walk.h"
#include "codegen/pair_products.h"

namespace ricci::codegen {

namespace {

/// Of TDPBF16PS, and of a load of a tile (Intel Optimization Reference Manual, chapter 20).
constexpr double product_cycles = 16;
constexpr double load_cycles = 10;
/// Of a tile beside its products: sums that are set to 0 and stored.
constexpr double tile_cycles = 150;
/// Of each piece of an element that is copied or packed, along what is contiguous and otherwise.
constexpr double copy_cycles = 0.4;
constexpr double gather_cycles = 1.5;
/// Of a result, and of looking at it for infinities.
constexpr double result_cycles = 0.3;
constexpr double look_cycles = 0.1;
/// Of a kernel more.
constexpr double step_cycles = 500;
/// Rows a multiple of so many bytes apart share few sets of the second-level cache, too: in place
/// 1024x4096 by 4096x1024 took 9.3 to 11.9 ms, rows elsewhere 7.3 to 7.7
/// (`ricci bench --threads 1 "C[i,j] := f32(A[i,k])*f32(B[k,j])" A=1024x4096:bf16
/// B=4096x1024:bf16`).
constexpr std::int64_t far_bytes = 8192;
/// Elements that are read more often than this are not copied for each time.
constexpr double most_copies = 1.5;

/// The axes with that one last whose blocks have the fewest points more than it has; of equal ones
/// the last, whose order stays.
std::vector<Axis> with_blocks_last(std::vector<Axis> reduced) {
    const auto waste = [](const Axis& axis) {
        return double(filled(axis.extent)) / double(axis.extent);
    };
    auto best = reduced.begin();
    for (auto axis = reduced.begin(); axis != reduced.end(); ++axis)
        if (waste(*axis) <= waste(*best)) best = axis;
    std::rotate(best, best + 1, reduced.end());
    return reduced;
}

/// Pieces of an f32 number.
std::size_t most_pieces(Precision precision) {
    switch (precision) {
        case Precision::f32:    break;
        case Precision::bf16x3: return 2;
        case Precision::bf16x6: return 3;
    }
    return 1;
}

/// Pieces of an operand; 0 where it cannot be taken so.
std::size_t pieces_of(const Value& term, const Target& target) {
    if (unconverted(term)) return 1;
    if (term->dtype != DType::f32 || target.precision == Precision::f32) return 0;
    constexpr std::size_t pieces_of_f16 = 2;  // of its 11 bits
    const auto* convert = std::get_if<Convert>(&term->term);
    const bool is_f16 = convert != nullptr && convert->a->dtype == DType::f16;
    return is_f16 ? pieces_of_f16 : most_pieces(target.precision);
}

/// Cycles of bringing an operand of so many elements into place.
class Placing {
  public:
    Placing(const Kernel& kernel, const TiledProduct& product)
        : kernel_(kernel), product_(product) {}

    [[nodiscard]] double rows() const {
        if (may_rows_stay(product_)) return 0;
        const Value& term = product_.contraction.row_operands[0].term;
        const double elements = double(points(product_.contraction.batch)) *
                                double(points(product_.contraction.rows)) *
                                double(product_.depth());
        const bool is_near = is_contiguous(term, product_.reduced.back().var) ||
                             is_contiguous(term, product_.row_axis.var);
        return elements * copied(product_.row_pieces, is_near) + 2 * step_cycles;
    }
    /// Infinite where elements that many columns share would be copied for each.
    [[nodiscard]] double columns() const {
        const Contraction& c = product_.contraction;
        const Value& term = c.column_operands[0].term;
        const double elements = double(points(c.batch)) * double(points(c.columns)) *
                                double(c.lane.extent) * double(product_.depth());
        const bool is_near =
            is_contiguous(term, product_.reduced.back().var) || is_contiguous(term, c.lane.var);
        const double packed = elements * copied(product_.column_pieces, is_near) + step_cycles;
        const bool is_copied =
            product_.column_pieces > 1 || product_.reduced.back().extent % block_points != 0;
        if (!is_copied) return packed;
        if (is_shared(term)) return std::numeric_limits<double>::infinity();
        return packed + elements * copied(product_.column_pieces, true) +
               double(product_.column_pieces) * step_cycles;
    }

  private:
    static double copied(std::size_t pieces, bool is_near) {
        return double(pieces) * (is_near ? copy_cycles : gather_cycles);
    }
    [[nodiscard]] bool is_shared(const Value& term) const {
        double elements = 0;
        for_each_node({term}, [&](const Value& value) {
            if (const auto* load = std::get_if<Load>(&value->term))
                elements += double(kernel_.nest.at(load->buffer).elements);
        });
        return double(points(axes_of(kernel_, term))) > most_copies * elements;
    }

    const Kernel& kernel_;
    const TiledProduct& product_;
};

}  // namespace

std::int64_t filled(std::int64_t extent) { return ceil_div(extent, block_points) * block_points; }

bool may_rows_stay(const TiledProduct& product) {
    const Value bf16 = unconverted(product.contraction.row_operands[0].term);
    const auto* load = bf16 ? std::get_if<Load>(&bf16->term) : nullptr;
    if (load == nullptr || load->at.computed || product.reduced.size() != 1) return false;
    const std::int64_t step = load->at.affine.coefficient(product.row_axis.var);
    return product.reduced[0].extent % block_points == 0 &&
           load->at.affine.coefficient(product.reduced[0].var) == 1 && step > 0 &&
           step * std::int64_t(size_bytes(bf16->dtype)) % far_bytes != 0 &&
           product.row_axis.extent % product.shape.rows == 0;
}

std::int64_t TiledProduct::depth() const {
    std::int64_t count = filled(reduced.back().extent);
    for (std::size_t i = 0; i + 1 < reduced.size(); ++i) count *= reduced[i].extent;
    return count;
}

std::int64_t TiledProduct::blocks() const { return depth() / block_points; }

std::vector<std::pair<std::size_t, std::size_t>> TiledProduct::products() const {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    // The columns' piece that is loaded already comes first.
    for (std::size_t r = row_pieces; r-- > 0;) {
        const std::size_t columns = std::min(column_pieces, most_pieces - r);
        const std::size_t loaded = pairs.empty() ? 0 : pairs.back().second;
        if (loaded < columns) pairs.emplace_back(r, loaded);
        for (std::size_t c = 0; c < columns; ++c)
            if (c != loaded) pairs.emplace_back(r, c);
    }
    return pairs;
}

std::optional<TiledProduct> find_tiled_product(const Kernel& kernel, const Target& target) {
    if (!target.has_bf16_tiles || kernel.reducer != Reducer::sum || !kernel.conditions.is_empty() ||
        !kernel.slices.empty() || kernel.has_meeting_writes() || kernel.body->dtype != DType::f32 ||
        points(kernel.free) == 0 || points(kernel.reduced) < 2)
        return std::nullopt;
    std::optional<Contraction> found = find_contraction(kernel, LaneRule::nearest);
    if (!found || !found->held.empty() || found->row_operands.size() != 1 ||
        found->column_operands.size() != 1 || !is_operation(found->body, Op::mul))
        return std::nullopt;
    const Value& row = found->row_operands[0].term;
    const Value& column = found->column_operands[0].term;
    const std::vector<Value> factors = operands(found->body);
    const bool is_product = factors.size() == 2 && ((factors[0] == row && factors[1] == column) ||
                                                    (factors[0] == column && factors[1] == row));
    if (!is_product) return std::nullopt;

    TiledProduct product{.contraction = *found,
                         .row_axis = {},
                         .reduced = with_blocks_last(kernel.reduced),
                         .row_pieces = pieces_of(row, target),
                         .column_pieces = pieces_of(column, target),
                         .most_pieces = codegen::most_pieces(target.precision),
                         .shape = {}};
    if (product.row_pieces == 0 || product.column_pieces == 0) return std::nullopt;
    const Contraction& c = product.contraction;
    product.row_axis = *std::ranges::max_element(c.rows, {}, &Axis::extent);
    const auto count = double(product.products().size());
    const std::int64_t outer =
        points(c.batch) * points(c.columns) * (points(c.rows) / product.row_axis.extent);
    product.cycles = std::numeric_limits<double>::infinity();
    for (const std::int64_t row_tiles : {2, 1})
        for (const std::int64_t column_tiles : {2, 1}) {
            const std::int64_t rows = row_tiles * tile_side;
            const std::int64_t columns = column_tiles * tile_side;
            const double loads = double(product.row_pieces) * double(row_tiles) +
                                 double(product.column_pieces) * double(column_tiles);
            const double block = std::max(product_cycles * count * double(row_tiles * column_tiles),
                                          load_cycles * loads);
            const std::int64_t tiles =
                outer * ceil_div(product.row_axis.extent, rows) * ceil_div(c.lane.extent, columns);
            const double cycles = double(tiles) * (tile_cycles + block * double(product.blocks()));
            if (cycles >= product.cycles) continue;
            product.cycles = cycles;
            product.tiles = tiles;
            product.shape = {rows, columns, block};
        }
    const Placing placing(kernel, product);
    const bool is_split = product.row_pieces > 1 || product.column_pieces > 1;
    product.cycles +=
        placing.rows() + placing.columns() +
        (result_cycles + (is_split ? look_cycles : 0) + write_cycles(kernel, c.lane)) *
            double(points(kernel.free));
    return product;
}

}  // namespace ricci::codegen
