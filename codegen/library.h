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
};

/// What is done to a result before it is written.
enum class Activation : std::uint8_t { none, relu };

/// result[b,m,n] = activation(alpha * sum over k of left[b,m,k] * right[b,k,n]
///                            + beta * result[b,m,n] + bias[n])
/// For each of its operands one of the two strides is 1 (of an extent of 1 it does not matter).
struct MatrixProduct {
    DType dtype = DType::f32;
    std::int64_t batch = 1;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t depth = 1;
    MatrixOperand left;
    MatrixOperand right;
    MatrixOperand result;
    double alpha = 1;
    double beta = 0;
    std::optional<MatrixOperand> bias = std::nullopt;  ///< column_stride 1, row_stride 0, or the
                                                       ///< other way round: bias[m]
    Activation activation = Activation::none;
};

/// A convolution of any number of spatial dimensions, of which the three arrays are x (input), w
/// (filter) and y (output); one of them is the result:
///   y[n,g,o,p...] = sum over c, k... of x[n,g,c, stride*p + dilation*k - padding] * w[g,o,c,k...]
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
        std::int64_t padding = 0;
        bool is_flipped = false;  ///< the filter is read backwards: a true convolution
    };
    std::vector<Spatial> spatial;
    struct Operand {
        std::size_t place = 0;  ///< the plan buffer
        std::int64_t offset = 0;
        std::vector<std::int64_t>
            strides;  ///< x: n g c spatial; w: g o c spatial; y: n g o spatial
    };
    Operand input;
    Operand filter;
    Operand output;
    std::optional<MatrixOperand> bias = std::nullopt;  ///< forward: one value an output channel
    Activation activation = Activation::none;
};

struct LibraryCall {
    std::variant<MatrixProduct, Convolution> call;
    std::size_t first_step = 0;
    std::size_t step_count = 0;
};

[[nodiscard]] std::string str(const LibraryCall& call);

}  // namespace ricci::codegen
