// codegen/last_tile.h – what tiles leave over along an axis, as a whole tile that starts earlier or
// as one that lacks elements
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "codegen/nest_build.h"
#include "codegen/pack.h"
#include "codegen/tile.h"

namespace ricci::codegen {

/// The last tile along an axis where it is whole: it starts inside the tile before it, which writes
/// what both have.
class LastTile {
  public:
    LastTile(const Tiling& tiling, VarId tile, VarId is_last)
        : tiles_(tiling.tiles()),
          elements_(tiles_ * tiling.step - tiling.axis.extent),
          tile_(tile),
          is_last_(is_last) {
        RICCI_ASSERT(tiling.axis.extent >= tiling.step, "the last tile begins inside the axis");
    }
    /// Tells whether a tile is the last one; what is asked of the others must follow.
    [[nodiscard]] Stmt set() const {
        return make_let_var(is_last_, form(tile_) + form(1), tiles_, 0);
    }
    /// How many of its first elements a tile shares: none but of the last one.
    [[nodiscard]] AffineForm overlap() const { return form(is_last_, elements_); }
    /// Whether no other tile has an element of this one.
    [[nodiscard]] Value is_own(const AffineForm& element) const {
        return all_hold({element - overlap()}, Substitution{});
    }

  private:
    std::int64_t tiles_;
    std::int64_t elements_;
    VarId tile_;
    VarId is_last_;
};

/// Where a tile begins; `last` where it shares elements.
[[nodiscard]] AffineForm first_element(const Tiling& tiling, VarId tile,
                                       const std::optional<LastTile>& last);

/// Neighbouring elements of a tile.
struct Elements {
    std::int64_t first = 0;
    std::int64_t end = 0;
};
/// The elements of a tile that there are, and that no other tile has.
struct OwnElements {
    Elements always;  ///< of every tile
    /// What the last one leaves out: the tile before it has them, or they lie beyond the axis.
    Elements others;
    Value unless_last;  ///< whether the tile has the others; empty where there are none
};
/// `first` is where a tile begins.
[[nodiscard]] OwnElements own_elements(const Tiling& tiling, const std::optional<LastTile>& last,
                                       const AffineForm& first);

/// A body for each of these in lanes, which are those of a tile. Of vectors that are not whole in
/// every tile what the last one lacks is masked; what it shares is for `body`, which is given a
/// condition then.
[[nodiscard]] Body over_own_lanes(
    Nest& nest, const Lanes& lanes, const Tiling& tiling, const std::optional<LastTile>& last,
    const AffineForm& first,
    const std::function<Body(const AffineForm& element, const Value& is_own)>& body);

}  // namespace ricci::codegen
