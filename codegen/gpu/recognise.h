// codegen/gpu/recognise.h – a kernel as a sum of products of two arrays: what libraries can do
//
// recognise() reads a kernel as such a sum, if it is one, and that as a matrix product or as a
// convolution. Only strides and extents count: which array stands where, the order of axes and
// their names do not.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/library.h"

namespace ricci::codegen::gpu {

/// A buffer of the plan at an address that is affine in the axes.
struct ArrayAt {
    std::size_t place = 0;
    AffineForm at = {};
    std::int64_t elements = 0;  ///< of the whole buffer

    bool operator==(const ArrayAt&) const = default;
};

/// What is added to the sum before it is written.
struct Addend {
    double factor = 1;
    ArrayAt array = {};
};

/// result = activation(alpha * sum of left * right + sum of factor * addend), the sum over the
/// reduced points at which the conditions hold.
struct SumOfProducts {
    DType dtype = DType::f32;
    std::vector<Axis> free;                 ///< of extents above 1, as are the reduced ones
    std::vector<Axis> reduced;              ///< nothing else occurs in addresses and conditions
    std::vector<AffineForm> at_least_zero;  ///< those that some point breaks
    std::vector<AffineForm> equal_zero;
    ArrayAt left;
    ArrayAt right;
    ArrayAt result;
    double alpha = 1;
    std::vector<Addend> addends;
    Activation activation = Activation::none;

    /// Lets the axis run the other way: the same points, the same arrays.
    void reverse(const Axis& axis);
};

/// Nothing when the kernel is none: another reducer, other factors, an epilogue of another form,
/// types but f32 and f64, conditions that are not affine.
[[nodiscard]] std::optional<SumOfProducts> find_sum_of_products(const Kernel& kernel);

[[nodiscard]] std::optional<LibraryCall> as_matrix_product(const SumOfProducts& sum);
[[nodiscard]] std::optional<LibraryCall> as_convolution(const SumOfProducts& sum);

/// An axis with its strides in five arrays at most.
struct Walk {
    std::int64_t extent = 1;
    std::array<std::int64_t, 5> strides{};
};
/// The walks by falling strides in the array `by`, neighbours joined that all arrays walk as one.
[[nodiscard]] std::vector<Walk> joined(std::vector<Walk> walks, std::size_t by);

}  // namespace ricci::codegen::gpu
