// codegen/bf16_pieces.h – operands of products as sums of bf16 numbers, in arrays of their own
#pragma once

#include <string>
#include <vector>

#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// An f32 value as a sum of so many bf16 ones, the largest first, each the nearest to what those
/// before it leave: three hold all 24 bits, two hold 16 (Henry, Tang, Heinecke: Leveraging the
/// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, 2019).
[[nodiscard]] std::vector<Value> bf16_pieces(const Value& f32, std::size_t pieces);

/// Where an axis goes in an array.
struct PlacedAxis {
    Axis axis;
    std::int64_t step = 1;    ///< elements from point to point
    std::int64_t extent = 0;  ///< at least the axis' own: what lies beyond that is 0
};
/// The array of each piece, one after the other.
struct PieceArrays {
    std::size_t place = 0;      ///< the plan buffer
    std::int64_t elements = 0;  ///< of one piece
    std::vector<PlacedAxis> axes;

    /// Where the element of the axes' variables is.
    [[nodiscard]] AffineForm at(std::size_t piece) const;
};

/// Adds the steps that evaluate the pieces (bf16, over the axes' variables) into arrays of
/// `elements` each.
[[nodiscard]] PieceArrays place_pieces(const Kernel& kernel, const std::vector<Value>& pieces,
                                       std::vector<PlacedAxis> axes, std::int64_t elements,
                                       const std::string& name, PlanBuilder& builder);

}  // namespace ricci::codegen
