// codegen/tile_shape.cpp – how many accumulators a contraction's tile has
#include "codegen/tile_shape.h"

#include <algorithm>

#include "base/integer.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// Whether an element's value is a product of two operands, which a multiply-add adds to its sum.
bool is_product(const Contraction& contraction) {
    const auto is_operand = [&](const Value& value) {
        const auto is_term = [&](const Operand& operand) { return operand.term == value; };
        return std::ranges::any_of(contraction.row_operands, is_term) ||
               std::ranges::any_of(contraction.column_operands, is_term);
    };
    return is_operation(contraction.body, Op::mul) &&
           std::ranges::all_of(operands(contraction.body), is_operand);
}

/// Registers of the values in progress: a row's scalar, and what else an element takes. Where 16
/// are all there are, each one counts; 32 leave more for operations to overlap in.
std::int64_t in_progress(const Contraction& contraction, std::int64_t vectors,
                         const RowVectors& of_row, const Target& target) {
    constexpr std::int64_t few = 16;
    const bool is_some_held = std::ranges::any_of(
        contraction.held, [](const Operand& held) { return held.has_rows && held.has_columns; });
    if (target.vector_registers > few) return is_some_held ? 4 : 2;
    // A product that is no multiply-add stands beside the sum it goes into; of one column the
    // scalar's register takes it.
    const bool has_own = is_product(contraction) ? !of_row.is_fused : vectors > 1;
    return (of_row.is_masked || has_own ? 2 : 1) + (of_row.has_one ? 1 : 0);
}

/// How many rows of so many vectors the registers hold; 0: none.
std::int64_t most_rows(const Contraction& contraction, std::int64_t vectors,
                       const RowVectors& of_row, const Target& target) {
    constexpr std::int64_t most = 14;
    std::int64_t per_element = 1;
    std::int64_t per_row = 0;
    auto per_column = std::int64_t(contraction.column_operands.size());
    for (const Operand& held : contraction.held) {
        if (held.has_rows && held.has_columns)
            ++per_element;
        else if (held.has_rows)
            ++per_row;
        else
            ++per_column;
    }
    const std::int64_t left = target.vector_registers -
                              in_progress(contraction, vectors, of_row, target) -
                              vectors * per_column;
    return std::clamp<std::int64_t>(left / (vectors * per_element + per_row), 0, most);
}

/// Whether the last of several vectors would hold no column at all.
bool is_too_wide(const Contraction& contraction, std::int64_t vectors, std::int64_t lanes) {
    return (vectors - 1) * lanes >= contraction.lane.extent;
}

}  // namespace

std::int64_t most_vectors(const Contraction& contraction, bool is_half) {
    return (is_product(contraction) ? 3 : 4) * (is_half ? 2 : 1);
}

std::vector<TileShape> all_tiles(const Contraction& contraction, std::int64_t row_extent,
                                 const RowVectors& of_row, const Target& target) {
    std::vector<TileShape> tiles;
    for (std::int64_t vectors = 1; vectors <= most_vectors(contraction, of_row.is_half);
         ++vectors) {
        if (is_too_wide(contraction, vectors, of_row.lanes)) break;
        const std::int64_t most = most_rows(contraction, vectors, of_row, target);
        for (std::int64_t rows = std::min(most, row_extent); rows > 0; --rows)
            tiles.push_back({rows, vectors, of_row.lanes});
    }
    if (tiles.empty()) tiles.push_back({1, 1, of_row.lanes});
    return tiles;
}

std::vector<TileShape> tiles_of_rows(const Contraction& contraction, std::int64_t rows,
                                     const RowVectors& of_row, const Target& target) {
    std::vector<TileShape> tiles;
    for (std::int64_t vectors = 1; vectors <= most_vectors(contraction, of_row.is_half);
         ++vectors) {
        if (is_too_wide(contraction, vectors, of_row.lanes)) break;
        if (most_rows(contraction, vectors, of_row, target) >= rows)
            tiles.push_back({rows, vectors, of_row.lanes});
    }
    return tiles;
}

std::vector<TileShape> large_tiles(const Contraction& contraction, std::int64_t row_extent,
                                   const RowVectors& of_row, const Target& target) {
    std::vector<TileShape> tiles;
    const std::int64_t row_axis = std::max<std::int64_t>(row_extent, 1);
    for (std::int64_t vectors = 1; vectors <= most_vectors(contraction, of_row.is_half);
         ++vectors) {
        if (is_too_wide(contraction, vectors, of_row.lanes)) break;
        const std::int64_t most = most_rows(contraction, vectors, of_row, target);
        if (most < 1) continue;
        const std::int64_t equal = ceil_div(row_axis, ceil_div(row_axis, most));
        std::int64_t whole = std::min(most, row_axis);
        while (row_axis % whole != 0) --whole;
        tiles.push_back({equal, vectors, of_row.lanes});
        if (whole != equal) tiles.push_back({whole, vectors, of_row.lanes});
    }
    if (tiles.empty()) tiles.push_back({1, 1, of_row.lanes});
    return tiles;
}

}  // namespace ricci::codegen
