// codegen/gpu/spatial.h – the spatial dimensions of convolutions, from strides and conditions
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/gpu/recognise.h"

namespace ricci::codegen::gpu {

/// A sum of products whose arrays have the roles of a convolution.
struct Relation {
    Convolution::Direction direction = Convolution::Direction::forward;  ///< names the result
    ArrayAt x = {};
    ArrayAt w = {};
    ArrayAt y = {};
    std::optional<ArrayAt> bias = std::nullopt;
    double beta = 0;
    std::vector<Axis> free;
    std::vector<Axis> reduced;
    std::vector<AffineForm> at_least_zero;  ///< those that no dimension has used yet
    std::vector<AffineForm> equal_zero;

    /// Lets the axis run the other way.
    void reverse(const Axis& axis);
};

/// The six ways to give the arrays of a sum their roles. None when its addends are not those of a
/// convolution: the result itself, and an array of factor 1 in the forward direction.
[[nodiscard]] std::vector<Relation> relations(const SumOfProducts& sum);

/// A spatial dimension by the axes that are its places; the place without an axis is given by the
/// others, or is a single one. With an equation all three are axes, or single.
struct Pairing {
    std::optional<Axis> input = std::nullopt;
    std::optional<Axis> filter = std::nullopt;
    std::optional<Axis> output = std::nullopt;
    std::optional<AffineForm> equation = std::nullopt;
};

/// A spatial dimension as data, with its strides in the three arrays.
struct SpatialPart {
    Convolution::Spatial dimension;
    std::int64_t input_stride = 0;
    std::int64_t filter_stride = 0;
    std::int64_t output_stride = 0;
};

/// The dimension of a pairing, or nothing when its coefficients are not those of a convolution.
/// Uses up the conditions that bound it and moves the arrays' beginnings to their first place.
[[nodiscard]] std::optional<SpatialPart> spatial_part(Relation& relation, const Pairing& pairing);

/// An axis of x that is no spatial dimension.
struct Stride {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
};
/// x as libraries want it: contiguous, and with no dimension longer than the steps of those outside
/// it. Where x is read at every other place or fewer, as by a stride of 2 without any filter, the
/// elements between are part of it: stride, dilation and padding count in them.
void fit_input(std::vector<SpatialPart>& parts, const std::vector<Stride>& others);

}  // namespace ricci::codegen::gpu
