// codegen/library.h – work of a plan that a library can do: data, not calls
//
// A LibraryCall stands for consecutive steps of a plan, which do the same with generated kernels.
// Who executes the plan chooses: the library where it is present and has a way, else the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace ricci::codegen {

/// A buffer of the plan read or written through strides, in elements.
struct MatrixOperand {
    std::size_t place = 0;  ///< the plan buffer
    std::int64_t offset = 0;
    std::int64_t row_stride = 0;
    std::int64_t column_stride = 0;
    std::int64_t batch_stride = 0;
    std::int64_t repeat_stride = 0;

    bool operator==(const MatrixOperand&) const = default;
};

/// What is done to a result before it is written.
enum class Activation : std::uint8_t { none, relu };

/// For every r below `repeats` (calls, one after the other) and b below `batch`:
///   result[r,b,m,n] = activation(alpha * sum over k of left[r,b,m,k] * right[r,b,k,n]
///                                + beta * addend[r,b,m,n] + bias[r,b,m or n])
/// For each matrix one of the two strides is 1 and the other one at least the extent of the first
/// (of an extent of 1 the stride does not matter); the addend's is 1 where the result's is. The
/// addend is the result itself, or shares no memory with it. Extents are at least 1.
struct MatrixProduct {
    DType dtype = DType::f32;
    std::int64_t repeats = 1;
    std::int64_t batch = 1;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t depth = 1;
    MatrixOperand left;
    MatrixOperand right;
    MatrixOperand result;
    double alpha = 1;
    double beta = 0;
    std::optional<MatrixOperand> addend = std::nullopt;  ///< where beta is not 0
    /// Along the axis in which the result's stride is 1: that stride of it is 1, the other one 0.
    std::optional<MatrixOperand> bias = std::nullopt;
    Activation activation = Activation::none;
};

/// A convolution of any number of spatial dimensions, of which the three arrays are x (input), w
/// (filter) and y (output); one of them is the result:
///   y[n,g,o,p...] = sum over c, k... of x[n,g,c, stride*p + dilation*k - padding] * w[g,o,c,k...]
/// where x counts as 0 outside its extents. As input gradient and as filter gradient the adjoint in
/// x and in w: the sum of all products of the other two over the same relation. The result is
/// written everywhere: result = activation(alpha * sum + beta * result + bias).
struct Convolution {
    enum class Direction : std::uint8_t { forward, input_gradient, filter_gradient };
    Direction direction = Direction::forward;
    DType dtype = DType::f32;
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t in_channels = 1;   ///< of a group
    std::int64_t out_channels = 1;  ///< of a group
    struct Spatial {
        std::int64_t input = 1;
        std::int64_t filter = 1;
        std::int64_t output = 1;
        std::int64_t stride = 1;
        std::int64_t dilation = 1;
        std::int64_t padding = 0;  ///< before the first element of x; not negative
        bool is_flipped = false;   ///< w[filter-1-k] stands for w[k]: a true convolution

        bool operator==(const Spatial&) const = default;
        /// What must be added behind x for the last place that the filter reaches; negative when x
        /// goes on behind it.
        [[nodiscard]] std::int64_t padding_behind() const noexcept {
            return stride * (output - 1) + dilation * (filter - 1) + 1 - padding - input;
        }
    };
    std::vector<Spatial> spatial = {};
    struct Operand {
        std::size_t place = 0;  ///< the plan buffer
        std::int64_t offset = 0;
        std::vector<std::int64_t>
            strides;  ///< x: n g c spatial; w: g o c spatial; y: n g o spatial

        bool operator==(const Operand&) const = default;
    };
    Operand input = {};
    Operand filter = {};
    Operand output = {};
    double alpha = 1;
    double beta = 0;
    /// Forward: one value an output channel.
    struct Bias {
        std::size_t place = 0;
        std::int64_t offset = 0;
        std::int64_t group_stride = 0;
        std::int64_t channel_stride = 0;
    };
    std::optional<Bias> bias = std::nullopt;
    Activation activation = Activation::none;
};

struct LibraryCall {
    std::variant<MatrixProduct, Convolution> call;
    std::size_t first_step = 0;
    std::size_t step_count = 0;
    /// Large enough, and of a layout, that the library is expected to be faster than the steps.
    bool is_worthwhile = true;
};

[[nodiscard]] std::string str(const LibraryCall& call);

}  // namespace ricci::codegen
