// codegen/gpu/tile_places.cpp – which tile a block computes, and which part of it a thread
#include "codegen/gpu/tile_places.h"

#include <algorithm>

#include "codegen/gpu/threads.h"

namespace ricci::codegen::gpu {

namespace {

/// Tiles of a group: with some 250 blocks at once, 8 rows of tiles by 30 columns share most.
constexpr std::int64_t most_grouped = 8;

std::int64_t group_size(std::int64_t tiles) {
    std::int64_t divisor = std::min(most_grouped, tiles);
    while (tiles % divisor != 0) --divisor;
    return divisor;
}

}  // namespace

VarId let_var(Nest& nest, Body& body, std::string name, const AffineForm& number,
              std::int64_t divisor, std::int64_t modulus) {
    const VarId var = nest.add(Var{std::move(name)});
    body.push_back(make_let_var(var, number, divisor, modulus));
    return var;
}

Body place_block(Nest& nest, VarId block, const std::vector<Axis>& outer, TileSide& rows,
                 TileSide& columns, Schedule& schedule) {
    Body body;
    const std::int64_t tiles = rows.tiles() * columns.tiles();
    const std::int64_t boxes = points(outer);
    const VarId tile = let_var(nest, body, "tile", form(block), 1, boxes == 1 ? 0 : tiles);
    const bool by_rows = group_size(rows.tiles()) >= group_size(columns.tiles());
    TileSide& side = by_rows ? rows : columns;
    TileSide& other = by_rows ? columns : rows;
    const std::int64_t group = group_size(side.tiles());
    schedule.directives.push_back(
        {"group", by_rows ? "rows" : "columns", {group}, "tiles that go side by side"});
    side.tile = form(let_var(nest, body, "inside", form(tile), 1, group));
    other.tile = form(let_var(nest, body, by_rows ? "column_tile" : "row_tile", form(tile), group,
                              other.tiles()));
    if (group < side.tiles())
        side.tile = side.tile +
                    form(let_var(nest, body, "group", form(tile), group * other.tiles(), 0), group);
    AffineForm box;
    if (boxes > 1) box = form(let_var(nest, body, "box", form(block), tiles, 0));
    append(body, name_axes(outer, box));
    return body;
}

AffineForm ThreadPlaces::row(const AffineForm& part, const AffineForm& e) const {
    return tile.rows / tile.thread_rows * fragment * part + fragment * own_row + e;
}
AffineForm ThreadPlaces::column(const AffineForm& part, const AffineForm& e) const {
    return tile.columns / tile.thread_columns * fragment * part + fragment * own_column + e;
}

Body place_thread(Nest& nest, VarId thread, ThreadPlaces& places) {
    Body body;
    const std::int64_t across = places.tile.columns / places.tile.thread_columns;
    const std::int64_t lanes = std::min<std::int64_t>(8, across);
    const std::int64_t warps_across = across / lanes;
    const auto part = [&](const char* name, std::int64_t divisor, std::int64_t modulus) {
        return let_var(nest, body, name, form(thread), divisor, modulus);
    };
    const VarId low_row = part("low_row", 1, 2);
    const VarId column = part("lane_column", 2, lanes);
    const VarId high_row = part("high_row", 2 * lanes, warp / lanes / 2);
    const VarId warp_column = part("warp_column", warp, warps_across);
    const VarId warp_row = part("warp_row", warp * warps_across, 0);
    places.own_row = form(low_row) + form(high_row, 2) + form(warp_row, warp / lanes);
    places.own_column = form(column) + form(warp_column, lanes);
    return body;
}

}  // namespace ricci::codegen::gpu
