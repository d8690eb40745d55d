// codegen/segment_sums.h – values of points combined by the key of each, with an inverse index
//
// Points that have one key follow each other in the inverse index: they are a segment [a,b) of its
// places. Whole blocks of `fan` neighbouring places are combined first, whatever their keys, then
// blocks of blocks. A segment is what stands before its first whole block, that block's neighbours
// on the next level, and what stands after its last: at every level fewer than 2*fan values,
// however many points the key has. So a key of many points takes no longer than one of few, and the
// order in which values are combined is fixed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/inverse_index.h"

namespace ricci::codegen {

/// The update that combines as a reducer does; nothing for those that tell places.
[[nodiscard]] std::optional<Assign> update_of(Reducer reducer);

/// total[places..., row...] := reduce[points | places == keys](value)
struct KeyedValues {
    /// An index of the result, and what its value has to be at a point.
    struct Place {
        IndexId index{};
        Expr key;  ///< i64, over the points
    };
    std::string name;
    std::vector<Place> places;
    std::vector<IndexId> points;
    std::vector<IndexId> row;
    Expr valid;  ///< over the points: which of them count; empty: all
    /// Over points and row, of the accumulator's type; may name the indices of the places. It can
    /// be evaluated at every point.
    Expr value;
    /// Empty: the value of the last point stays.
    std::optional<Reducer> reducer;
};

/// Adds the equations; gives the total, [places..., row...] from the lower bounds of these indices.
/// Without a reducer only elements of keys that some point has are defined.
[[nodiscard]] TensorId sum_segments(EquationMaker& make, InverseIndices& indices,
                                    const KeyedValues& keyed);

/// Levels of blocks, the points included.
[[nodiscard]] int segment_levels(std::int64_t points);

}  // namespace ricci::codegen
