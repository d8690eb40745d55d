// codegen/flatten.h – two free axes of a contraction walked as one
//
// A convolution's columns `(y, x)` read its input at `pitch*y + x`: lanes along `pitch*y + x` fill
// vectors whatever the extent of x. The points between two rows, `inner.extent` to `pitch`, are
// computed from elements that stand there, and not written: addresses are affine in both axes, so
// that what lies between two points of an array lies in it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/tile.h"

namespace ricci::codegen {

struct Flattened {
    /// Over `flat`. Its writes are those of the first row alone, its conditions say no more than
    /// which of them move with lanes.
    Kernel kernel;
    Axis flat;  ///< the place of its points is `pitch * outer + inner`
    Axis outer;
    Axis inner;
    std::int64_t pitch = 0;
    std::vector<Store> writes;                ///< over `outer` and `inner`
    std::vector<AffineForm> conditions = {};  ///< the same of those that move with lanes
};

/// The ways in which a kernel without meeting writes can be flattened: every load of its body that
/// moves with two axes does so in one proportion, and nothing else does.
[[nodiscard]] std::vector<Flattened> flattenings(const Kernel& kernel);

/// The part of a vector that lies in one row: where its first lane is, were it in that row.
struct Piece {
    AffineForm first;  ///< of the tile's lanes
    AffineForm outer;
    AffineForm inner;
};
/// The body for every piece of the vectors whose first lane is at `first`, by vectors; some lanes
/// of a piece may lie in others.
[[nodiscard]] Body over_pieces(Nest& nest, const Flattened& f, const AffineForm& first,
                               const Lanes& lanes, const std::function<Body(const Piece&)>& body);

/// Registers that hold where each lane of a tile is, for conditions that move with both axes.
class LanePlaces {
  public:
    LanePlaces(Nest& nest, const Flattened& f, const Lanes& lanes);
    /// For the tile whose first lane is at `first`.
    [[nodiscard]] Body set(Nest& nest, const AffineForm& first) const;
    /// Whether a lane is of a row, and meets every condition.
    [[nodiscard]] Value is_taken(const Nest& nest, const AffineForm& lane) const;

  private:
    const Flattened& f_;
    Lanes lanes_;
    BufferId outer_;
    BufferId inner_;
};

}  // namespace ricci::codegen
