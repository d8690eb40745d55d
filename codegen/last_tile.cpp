// codegen/last_tile.cpp – what tiles leave over along an axis, as a whole tile that starts earlier
// or as one that lacks elements
#include "codegen/last_tile.h"

#include "base/error.h"
#include "base/integer.h"

namespace ricci::codegen {

AffineForm first_element(const Tiling& tiling, VarId tile, const std::optional<LastTile>& last) {
    const AffineForm first = form(tile, tiling.step);
    return last ? first - last->overlap() : first;
}

OwnElements own_elements(const Tiling& tiling, const std::optional<LastTile>& last,
                         const AffineForm& first) {
    if (!tiling.has_edge()) return {.always = {0, tiling.step}, .others = {}, .unless_last = {}};
    const std::int64_t left = tiling.axis.extent % tiling.step;
    if (last)
        return {.always = {tiling.step - left, tiling.step},
                .others = {0, tiling.step - left},
                .unless_last = last->is_own(form(0))};
    return {.always = {0, left},
            .others = {left, tiling.step},
            .unless_last = all_hold({form(tiling.axis.extent - 1 - left) - first}, Substitution{})};
}

Body over_own_lanes(
    Nest& nest, const Lanes& lanes, const Tiling& tiling, const std::optional<LastTile>& last,
    const AffineForm& first,
    const std::function<Body(const AffineForm& element, const Value& is_own)>& body) {
    RICCI_ASSERT(lanes.lanes * lanes.unroll == tiling.step, "lanes are those of a tile");
    const Elements always = own_elements(tiling, last, first).always;
    const Elements whole{ceil_div(always.first, lanes.lanes), always.end / lanes.lanes};
    Body all;
    const auto add = [&](const Elements& vectors, bool are_whole) {
        if (vectors.first == vectors.end) return;
        const AffineForm before = form(vectors.first * lanes.lanes);
        Lanes some{lanes.lanes, vectors.end - vectors.first, {}};
        if (!are_whole && !last) some.limit = bound(form(tiling.axis.extent) - first - before);
        append(all, over_lanes(nest, some, [&](const AffineForm& lane) {
                   const AffineForm element = before + lane;
                   return body(element, !are_whole && last ? last->is_own(element) : nullptr);
               }));
    };
    add({0, whole.first}, false);
    add(whole, true);
    add({whole.end, lanes.unroll}, false);
    return all;
}

}  // namespace ricci::codegen
