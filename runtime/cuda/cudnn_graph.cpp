// runtime/cuda/cudnn_graph.cpp – convolutions as operation graphs of cuDNN
#include "runtime/cuda/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "runtime/cuda/library_handles.h"

namespace ricci::cuda {
namespace {

using codegen::Activation;
using codegen::Convolution;
using Direction = Convolution::Direction;

[[noreturn]] void refuse(const std::string& why) {
    throw Error({.kind = ErrorKind::device,
                 .message = "cuDNN has no " + why,
                 .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
}

/// Extents and strides as cuDNN wants them: n, all channels, spatial.
struct TensorShape {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
};

/// Two axes as one, if they are walked as one.
std::int64_t joined_stride(std::int64_t outer_extent, std::int64_t outer_stride,
                           std::int64_t inner_extent, std::int64_t inner_stride) {
    if (outer_extent == 1) return inner_stride;
    if (inner_extent == 1) return outer_stride;
    if (outer_stride != inner_extent * inner_stride)
        refuse("convolution whose groups of channels do not lie one behind the other");
    return inner_stride;
}

/// The dimensions from the innermost one on, channels innermost or not.
std::vector<std::size_t> inside_out(std::size_t rank, bool has_channels_last) {
    std::vector<std::size_t> order;
    if (has_channels_last) order.push_back(1);
    for (std::size_t d = rank; d-- > 2;) order.push_back(d);
    if (!has_channels_last) order.push_back(1);
    order.push_back(0);
    return order;
}

/// Whether the dimensions lie in memory in that order, with gaps or without.
bool is_in_order(const TensorShape& shape, bool has_channels_last) {
    std::int64_t last = 0;  // where the inner dimensions end
    for (const std::size_t d : inside_out(shape.extents.size(), has_channels_last)) {
        if (shape.extents[d] == 1) continue;
        if (shape.strides[d] <= last) return false;
        last += shape.strides[d] * (shape.extents[d] - 1);
    }
    return true;
}

/// Strides of extents of 1 as they are in an array without gaps: cuDNN knows the layout by them.
void fill_units(TensorShape& shape, bool has_channels_last) {
    std::int64_t reach = 1;
    for (const std::size_t d : inside_out(shape.extents.size(), has_channels_last)) {
        if (shape.extents[d] == 1)
            shape.strides[d] = reach;
        else
            reach = std::max(reach, shape.strides[d] * shape.extents[d]);
    }
}

struct Shapes {
    TensorShape input;
    TensorShape filter;
    TensorShape output;
    bool has_channels_last = false;
};

/// Adds the spatial dimensions; a single one becomes the second of two.
void add_spatial(const Convolution& c, const Convolution::Operand& operand,
                 std::int64_t Convolution::Spatial::* extent, TensorShape& shape) {
    if (c.spatial.size() == 1) {
        shape.extents.push_back(1);
        shape.strides.push_back(1);
    }
    for (std::size_t d = 0; d < c.spatial.size(); ++d) {
        shape.extents.push_back(c.spatial[d].*extent);
        shape.strides.push_back(operand.strides[3 + d]);
    }
}

Shapes shapes(const Convolution& c) {
    const std::vector<std::int64_t>& x = c.input.strides;
    const std::vector<std::int64_t>& w = c.filter.strides;
    const std::vector<std::int64_t>& y = c.output.strides;
    Shapes s;
    s.input = {{c.batch, c.groups * c.in_channels},
               {x[0], joined_stride(c.groups, x[1], c.in_channels, x[2])}};
    s.filter = {{c.groups * c.out_channels, c.in_channels},
                {joined_stride(c.groups, w[0], c.out_channels, w[1]), w[2]}};
    s.output = {{c.batch, c.groups * c.out_channels},
                {y[0], joined_stride(c.groups, y[1], c.out_channels, y[2])}};
    add_spatial(c, c.input, &Convolution::Spatial::input, s.input);
    add_spatial(c, c.filter, &Convolution::Spatial::filter, s.filter);
    add_spatial(c, c.output, &Convolution::Spatial::output, s.output);
    for (const TensorShape* shape : {&s.input, &s.output})
        s.has_channels_last |= shape->extents[1] > 1 && shape->strides[1] == 1;
    // Others cuDNN 9 takes too, and computes wrong results: 51 of 98 random ones that it did not
    // refuse (H100). Of those in order it computed all right whose padding is equal.
    const auto are_in_order = [&](bool has_channels_last) {
        return is_in_order(s.input, has_channels_last) &&
               is_in_order(s.filter, has_channels_last) && is_in_order(s.output, has_channels_last);
    };
    if (!are_in_order(s.has_channels_last)) s.has_channels_last = !s.has_channels_last;
    if (!are_in_order(s.has_channels_last))
        refuse(
            "convolution of arrays that are not all stored by image, channel and place, or all "
            "by image, place and channel");
    for (TensorShape* shape : {&s.input, &s.filter, &s.output})
        fill_units(*shape, s.has_channels_last);
    return s;
}

TensorShape bias_shape(const Convolution& c, const Shapes& all) {
    TensorShape shape{
        {1, c.groups * c.out_channels},
        {1, joined_stride(c.groups, c.bias->group_stride, c.out_channels, c.bias->channel_stride)}};
    shape.extents.resize(all.output.extents.size(), 1);
    shape.strides.resize(all.output.extents.size(), 1);
    fill_units(shape, all.has_channels_last);
    return shape;
}

class GraphMaker {
  public:
    GraphMaker(const Convolution& convolution, const PrepareOptions& options, CudnnHandle handle)
        : c_(convolution), options_(options), handle_(handle), shapes_(shapes(convolution)) {}

    OperationGraph fused() {
        const CudnnDescriptor x = tensor(GraphTensor::input);
        const CudnnDescriptor w = tensor(GraphTensor::filter);
        const bool has_epilogue = c_.bias || c_.activation != Activation::none;
        const CudnnDescriptor y = tensor(has_epilogue ? GraphTensor::sum : GraphTensor::output);
        convolve(x, w, y);
        if (has_epilogue) add_epilogue(y);
        return finish();
    }
    OperationGraph plain() {
        const CudnnDescriptor x = tensor(GraphTensor::input);
        const CudnnDescriptor w = tensor(GraphTensor::filter);
        convolve(x, w, tensor(GraphTensor::output));
        return finish();
    }
    OperationGraph epilogue() {
        add_epilogue(tensor(GraphTensor::before));
        return finish();
    }

  private:
    [[nodiscard]] bool is_f32() const { return c_.dtype == DType::f32; }
    [[nodiscard]] int type() const { return is_f32() ? cudnn_data_f32 : cudnn_data_f64; }

    Descriptor& add(CudnnKind kind) { return graph_.parts.emplace_back(kind); }

    [[nodiscard]] std::int64_t offset(GraphTensor name) const {
        switch (name) {
            case GraphTensor::input:  return c_.input.offset;
            case GraphTensor::filter: return c_.filter.offset;
            case GraphTensor::bias:   return c_.bias->offset;
            case GraphTensor::output:
            case GraphTensor::before:
            case GraphTensor::sum:
            case GraphTensor::biased: break;
        }
        return c_.output.offset;
    }
    /// `sum` and `biased` are virtual: they have no memory.
    CudnnDescriptor tensor(GraphTensor name) {
        const bool is_virtual = name == GraphTensor::sum || name == GraphTensor::biased;
        const TensorShape shape = name == GraphTensor::input    ? shapes_.input
                                  : name == GraphTensor::filter ? shapes_.filter
                                  : name == GraphTensor::bias   ? bias_shape(c_, shapes_)
                                                                : shapes_.output;
        Descriptor& made = add(CudnnKind::tensor);
        using enum CudnnAttribute;
        made.set(tensor_type, CudnnType::data_type, type());
        made.set(tensor_dimensions, CudnnType::int64, std::span<const std::int64_t>(shape.extents));
        made.set(tensor_strides, CudnnType::int64, std::span<const std::int64_t>(shape.strides));
        made.set(tensor_name, CudnnType::int64, static_cast<std::int64_t>(name));
        made.set(tensor_alignment, CudnnType::int64,
                 known_alignment(c_.dtype, offset(name), options_));
        made.set(tensor_is_virtual, CudnnType::boolean, is_virtual);
        made.finalise("a tensor");
        if (!is_virtual) graph_.tensors.push_back(name);
        return made.get();
    }

    CudnnDescriptor convolution() {
        std::vector<std::int64_t> strides;
        std::vector<std::int64_t> dilations;
        std::vector<std::int64_t> paddings;
        bool some_flipped = false;
        bool some_plain = false;
        if (c_.spatial.size() == 1) {
            strides = dilations = {1};
            paddings = {0};
        }
        for (const Convolution::Spatial& s : c_.spatial) {
            if (s.filter > 1) (s.is_flipped ? some_flipped : some_plain) = true;
            strides.push_back(s.stride);
            dilations.push_back(s.dilation);
            // Any number behind x from what is needed to less than a stride more gives the same
            // places. Where none is equal cuDNN 9 computed 3 of some hundred random ones wrong.
            const std::int64_t needed = s.padding_behind();
            if (s.padding < needed || s.padding >= needed + s.stride)
                refuse("convolution with unequal padding");
            paddings.push_back(s.padding);
        }
        if (some_flipped && some_plain)
            refuse("convolution that reads its filter backwards in some dimensions only");
        Descriptor& made = add(CudnnKind::convolution);
        using enum CudnnAttribute;
        made.set(convolution_dimensions, CudnnType::int64,
                 static_cast<std::int64_t>(strides.size()));
        made.set(convolution_type, CudnnType::data_type, type());
        made.set(convolution_mode, CudnnType::convolution_mode,
                 some_flipped ? cudnn_true_convolution : cudnn_cross_correlation);
        made.set(convolution_strides, CudnnType::int64, std::span<const std::int64_t>(strides));
        made.set(convolution_dilations, CudnnType::int64, std::span<const std::int64_t>(dilations));
        made.set(convolution_pre_paddings, CudnnType::int64,
                 std::span<const std::int64_t>(paddings));
        made.set(convolution_post_paddings, CudnnType::int64,
                 std::span<const std::int64_t>(paddings));
        made.finalise("a convolution");
        return made.get();
    }

    struct Names {
        CudnnKind kind;
        CudnnAttribute x, w, y, convolution, alpha, beta;
    };
    [[nodiscard]] Names names() const {
        using enum CudnnAttribute;
        switch (c_.direction) {
            case Direction::forward: break;
            case Direction::input_gradient:
                return {CudnnKind::operation_input_gradient,
                        input_gradient_x,
                        input_gradient_w,
                        input_gradient_y,
                        input_gradient_convolution,
                        input_gradient_alpha,
                        input_gradient_beta};
            case Direction::filter_gradient:
                return {CudnnKind::operation_filter_gradient,
                        filter_gradient_x,
                        filter_gradient_w,
                        filter_gradient_y,
                        filter_gradient_convolution,
                        filter_gradient_alpha,
                        filter_gradient_beta};
        }
        return {CudnnKind::operation_forward, forward_x,     forward_w,   forward_y,
                forward_convolution,          forward_alpha, forward_beta};
    }
    void convolve(CudnnDescriptor x, CudnnDescriptor w, CudnnDescriptor y) {
        const CudnnDescriptor description = convolution();
        const Names by = names();
        Descriptor& made = add(by.kind);
        made.set(by.x, CudnnType::descriptor, x);
        made.set(by.w, CudnnType::descriptor, w);
        made.set(by.y, CudnnType::descriptor, y);
        made.set(by.convolution, CudnnType::descriptor, description);
        const auto scale = [&](CudnnAttribute name, double value) {
            if (is_f32())
                made.set(name, CudnnType::f32, static_cast<float>(value));
            else
                made.set(name, CudnnType::f64, value);
        };
        scale(by.alpha, c_.alpha);
        scale(by.beta, c_.beta);
        made.finalise("a convolution of these extents");
        operations_.push_back(made.get());
    }

    void add_epilogue(CudnnDescriptor value) {
        if (c_.direction != Direction::forward) refuse("epilogue of a convolution's gradient");
        const bool has_relu = c_.activation == Activation::relu;
        if (c_.bias) {
            const CudnnDescriptor bias = tensor(GraphTensor::bias);
            const CudnnDescriptor to = tensor(has_relu ? GraphTensor::biased : GraphTensor::output);
            pointwise(cudnn_pointwise_add, value, bias, to);
            value = to;
        }
        if (has_relu) pointwise(cudnn_pointwise_relu, value, nullptr, tensor(GraphTensor::output));
    }
    void pointwise(int mode, CudnnDescriptor from, CudnnDescriptor other, CudnnDescriptor to) {
        using enum CudnnAttribute;
        Descriptor& description = add(CudnnKind::pointwise);
        description.set(pointwise_mode, CudnnType::pointwise_mode, mode);
        description.set(pointwise_precision, CudnnType::data_type, type());
        if (mode == cudnn_pointwise_relu)
            description.set(pointwise_nan_propagation, CudnnType::nan_propagation,
                            cudnn_propagate_nan);
        description.finalise("a pointwise function");
        const CudnnDescriptor function = description.get();
        Descriptor& made = add(CudnnKind::operation_pointwise);
        made.set(pointwise_description, CudnnType::descriptor, function);
        made.set(pointwise_x, CudnnType::descriptor, from);
        if (other != nullptr) made.set(pointwise_b, CudnnType::descriptor, other);
        made.set(pointwise_y, CudnnType::descriptor, to);
        made.finalise("a pointwise operation");
        operations_.push_back(made.get());
    }

    OperationGraph finish() {
        Descriptor& made = add(CudnnKind::graph);
        using enum CudnnAttribute;
        made.set(graph_operations, CudnnType::descriptor,
                 std::span<const CudnnDescriptor>(operations_));
        if (handle_ != nullptr) made.set(graph_handle, CudnnType::handle, handle_);
        made.finalise("a graph of these operations");
        return std::move(graph_);
    }

    const Convolution& c_;
    const PrepareOptions& options_;
    CudnnHandle handle_;
    Shapes shapes_;
    OperationGraph graph_;
    std::vector<CudnnDescriptor> operations_;
};

/// cuDNN's longer explanation of the last failure of this thread.
std::string explanation() {
    std::array<char, 512> text{};
    cudnn().cudnnGetLastErrorString(text.data(), text.size() - 1);
    return text.data();
}

}  // namespace

void check_cudnn(int status, const char* tried) {
    if (status == cudnn_success) return;
    const std::string more = explanation();
    throw Error(
        {.kind = ErrorKind::device,
         .message = format("cuDNN fails in {}: {}{}{}", tried, cudnn().cudnnGetErrorString(status),
                           more.empty() ? "" : ", ", more),
         .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
}

Descriptor::Descriptor(CudnnKind kind) {
    check_cudnn(cudnn().cudnnBackendCreateDescriptor(kind, &descriptor_),
                "cudnnBackendCreateDescriptor");
}
Descriptor::~Descriptor() {
    if (descriptor_ != nullptr) (void)cudnn().cudnnBackendDestroyDescriptor(descriptor_);
}
void Descriptor::set(CudnnAttribute name, CudnnType type, std::int64_t count, const void* values) {
    check_cudnn(cudnn().cudnnBackendSetAttribute(descriptor_, name, type, count, values),
                "cudnnBackendSetAttribute");
}
void Descriptor::finalise(const char* what) {
    const int status = cudnn().cudnnBackendFinalize(descriptor_);
    if (status == cudnn_success) return;
    const std::string more = explanation();
    throw Error(
        {.kind = ErrorKind::device,
         .message = format("cuDNN does not take {}: {}{}{}", what,
                           cudnn().cudnnGetErrorString(status), more.empty() ? "" : ", ", more),
         .hint = "set RICCI_CUDA_LIBRARIES=generated to do without it"});
}
bool Descriptor::try_finalise() {
    return cudnn().cudnnBackendFinalize(descriptor_) == cudnn_success;
}

OperationGraph fused_graph(const Convolution& convolution, const PrepareOptions& options,
                           CudnnHandle handle) {
    return GraphMaker(convolution, options, handle).fused();
}
OperationGraph plain_graph(const Convolution& convolution, const PrepareOptions& options,
                           CudnnHandle handle) {
    return GraphMaker(convolution, options, handle).plain();
}
OperationGraph epilogue_graph(const Convolution& convolution, const PrepareOptions& options,
                              CudnnHandle handle) {
    return GraphMaker(convolution, options, handle).epilogue();
}

}  // namespace ricci::cuda
