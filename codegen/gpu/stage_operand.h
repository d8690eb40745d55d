// codegen/gpu/stage_operand.h – operands of a contraction on their way to shared memory
//
// A tile of an operand lies in shared memory as lines [reduced point][row or column], whichever way
// it came, so that a thread's fragment of a line is one vector. Threads run along what is
// contiguous in memory, in vectors where that is known to be aligned; rows that are contiguous in
// the reduced axes are turned as they are stored. A plain load is copied asynchronously, anything
// else is evaluated into registers first. What lies beyond the edge of rows or columns is another
// row or column, computed with and thrown away; reduced points beyond the last are not staged.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/numbering.h"
#include "codegen/gpu/tile_places.h"
#include "codegen/kernel.h"
#include "codegen/schedule.h"

namespace ricci::codegen::gpu {

/// The reduced points, cut into tiles.
struct TileDepth {
    std::vector<Axis> axes;  ///< outermost first
    std::int64_t step = 1;   ///< points of a tile

    [[nodiscard]] std::int64_t extent() const { return points(axes); }
    [[nodiscard]] std::int64_t whole_tiles() const { return extent() / step; }
    [[nodiscard]] std::int64_t rest() const { return extent() % step; }
    [[nodiscard]] std::int64_t tiles() const { return whole_tiles() + (rest() != 0 ? 1 : 0); }
    /// The innermost axis is a multiple of tiles: the others stand still in a tile.
    [[nodiscard]] bool is_inside_an_axis() const { return axes.back().extent % step == 0; }
};

/// What is staged: a subterm, evaluated at a row (or column) and a reduced point.
struct StagedTerm {
    Value term;
    Value condition = nullptr;  ///< where it may be evaluated; elsewhere 0 is staged
};

/// How a term is staged.
struct StageWay {
    bool is_along_depth = false;  ///< threads run along the reduced points: lines are turned
    bool is_asynchronous = false;
    std::int64_t lanes = 1;  ///< elements of a load
    double sectors = 0;      ///< of memory that 32 elements lie in
};
/// By the axes as the term sees them (see `joined`), for tiles of that width and depth.
[[nodiscard]] StageWay choose_way(const Nest& nest, const StagedTerm& staged,
                                  const std::vector<Axis>& across, std::int64_t width,
                                  const std::vector<Axis>& depth, std::int64_t step);

class OperandStage {
  public:
    /// Adds the buffers: `stages` tiles in shared memory, and registers on the way there.
    OperandStage(Kernel& kernel, StagedTerm staged, std::string name, const TileSide& side,
                 const TileDepth& depth, std::int64_t threads, std::int64_t stages);

    [[nodiscard]] bool is_asynchronous() const noexcept { return way_.is_asynchronous; }
    [[nodiscard]] DType dtype() const { return staged_.term->dtype; }

    /// The thread's places in a tile: once, before all tiles.
    [[nodiscard]] Body prepare(VarId thread);
    /// Tile number `tile` of the reduced points: asynchronous copies to `stage`, or into registers.
    [[nodiscard]] Body fetch(const AffineForm& tile, const AffineForm& stage);
    /// That tile from registers to `stage`; nothing when copies are asynchronous.
    [[nodiscard]] Body put(const AffineForm& tile, const AffineForm& stage);
    /// The element at a reduced point and a row or column of the tile in that stage.
    [[nodiscard]] Value element(const AffineForm& stage, const AffineForm& point,
                                const AffineForm& place) const;
    /// How it is staged, for the schedule.
    [[nodiscard]] Directive description() const;

  private:
    /// Where all threads are in one of their passes over the tile, in groups of lanes along the
    /// contiguous direction.
    struct Pass {
        std::int64_t place = 0;  ///< which of `places_`
        std::int64_t depth = 0;  ///< from the thread's own place on
        std::int64_t across = 0;
    };
    [[nodiscard]] std::int64_t along_groups() const;
    [[nodiscard]] std::int64_t along_threads() const;
    /// Reduced points, and rows or columns, of a load.
    [[nodiscard]] std::int64_t depth_lanes() const { return way_.is_along_depth ? way_.lanes : 1; }
    [[nodiscard]] std::int64_t across_lanes() const { return way_.is_along_depth ? 1 : way_.lanes; }
    void choose_passes();
    void add_buffers();
    [[nodiscard]] Address at(const AffineForm& stage, const AffineForm& point,
                             const AffineForm& place) const;
    [[nodiscard]] Body load(std::int64_t slot, const Pass& pass, const AffineForm& tile,
                            const AffineForm& stage);
    [[nodiscard]] Body copy_lanes(std::int64_t slot, const Pass& pass, const Substitution& point,
                                  VarId lane, const AffineForm& stage);
    /// The group along the reduced points, and along rows or columns, of a pass.
    [[nodiscard]] AffineForm depth_group(const Pass& pass) const;
    [[nodiscard]] AffineForm across_group(const Pass& pass) const;
    [[nodiscard]] Body if_it_has_one(Body body) const;
    [[nodiscard]] Body if_reduced(const Pass& pass, const AffineForm& tile, Body body) const;

    Kernel& kernel_;
    StagedTerm staged_;
    std::string name_;
    const TileSide& side_;
    const TileDepth& depth_;
    std::int64_t threads_;
    std::int64_t stages_;
    std::vector<Axis> across_axes_;  ///< joined
    std::vector<Axis> depth_axes_;
    StageWay way_;
    std::int64_t pitch_ = 0;  ///< from line to line
    BufferId shared_{};
    BufferId registers_{};
    std::vector<Pass> passes_;
    std::int64_t items_ = 0;  ///< vectors of a tile
    VarId thread_{};
    VarId fast_{};  ///< the thread's own group along the contiguous direction
    VarId slow_{};  ///< and its line across it
    std::vector<Substitution> places_;
};

}  // namespace ricci::codegen::gpu
