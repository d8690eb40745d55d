// codegen/gpu/tile_places.h – which tile a block computes, and which part of it a thread
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/choose_tile.h"
#include "codegen/kernel.h"
#include "codegen/nest_build.h"
#include "codegen/schedule.h"

namespace ricci::codegen::gpu {

/// The rows, or the columns, of a contraction as blocks see them.
struct TileSide {
    std::vector<Axis> axes;  ///< outermost first
    std::int64_t width = 1;  ///< of a tile
    AffineForm tile = {};    ///< its number

    [[nodiscard]] std::int64_t extent() const { return points(axes); }
    [[nodiscard]] std::int64_t tiles() const { return (extent() + width - 1) / width; }
    [[nodiscard]] bool has_edge() const { return extent() % width != 0; }
};

/// Names the tile of a block from its number: tiles of one point of the `outer` axes follow each
/// other, in groups that share rows or columns, which then stay in the second-level cache.
[[nodiscard]] Body place_block(Nest& nest, VarId block, const std::vector<Axis>& outer,
                               TileSide& rows, TileSide& columns, Schedule& schedule);

/// A thread's part of a tile: `fragment` neighbouring rows (and columns), and as many again at a
/// distance of all threads' ones, so that neighbours read neighbouring vectors. A warp is 8 threads
/// along the columns by 4 along the rows, interleaved such that a shared load of 16 bytes a thread
/// takes each line once.
struct ThreadPlaces {
    TileConfig tile;
    std::int64_t fragment = 1;
    AffineForm own_row = {};  ///< the thread's place among those of a tile
    AffineForm own_column = {};

    /// The row of the tile that is element `e` of part `part` of the thread's.
    [[nodiscard]] AffineForm row(const AffineForm& part, const AffineForm& e) const;
    [[nodiscard]] AffineForm column(const AffineForm& part, const AffineForm& e) const;
};
[[nodiscard]] Body place_thread(Nest& nest, VarId thread, ThreadPlaces& places);

/// An unrolled loop of `count` iterations; the body itself when there is one.
template <class Make>
Body unrolled(Nest& nest, const std::string& name, std::int64_t count, const Make& make) {
    if (count == 1) return make(form(0));
    const VarId var = nest.add(Var{name});
    Body inner = make(form(var));
    Body loop;
    loop.push_back(make_loop(var, Bind::unroll, count, std::move(inner)));
    return loop;
}

/// A new variable: floor(number / divisor) % modulus, as in LetVar.
[[nodiscard]] VarId let_var(Nest& nest, Body& body, std::string name, const AffineForm& number,
                            std::int64_t divisor, std::int64_t modulus);

}  // namespace ricci::codegen::gpu
