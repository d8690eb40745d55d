// codegen/library.cpp – library calls as text
#include "codegen/library.h"

#include "base/match.h"
#include "base/text.h"

namespace ricci::codegen {

namespace {

std::string text(const MatrixOperand& operand) {
    return format("{}[{} + {}m + {}n + {}b]", operand.place, operand.offset, operand.row_stride,
                  operand.column_stride, operand.batch_stride);
}
std::string text(const Convolution::Operand& operand) {
    return format("{}[{} + ({})]", operand.place, operand.offset, join(operand.strides, ", "));
}
std::string_view name(Activation activation) {
    return activation == Activation::relu ? "relu" : "none";
}
std::string_view name(Convolution::Direction direction) {
    switch (direction) {
        case Convolution::Direction::forward:         return "forward";
        case Convolution::Direction::input_gradient:  return "input_gradient";
        case Convolution::Direction::filter_gradient: return "filter_gradient";
    }
    return "";
}

std::string text(const MatrixProduct& p) {
    std::string out =
        format("matrix_product {} batch {} rows {} columns {} depth {}: {} = {} * {} x {} + {} *",
               ricci::name(p.dtype), p.batch, p.rows, p.columns, p.depth, text(p.result), p.alpha,
               text(p.left), text(p.right), p.beta);
    if (p.bias) out += format(" bias {}", text(*p.bias));
    if (p.activation != Activation::none) out += format(" {}", name(p.activation));
    return out;
}
std::string text(const Convolution& c) {
    std::string out =
        format("convolution {} {} batch {} groups {} channels {} -> {}: x {} w {} y {}",
               name(c.direction), ricci::name(c.dtype), c.batch, c.groups, c.in_channels,
               c.out_channels, text(c.input), text(c.filter), text(c.output));
    for (const Convolution::Spatial& s : c.spatial)
        out += format(" [{} * {} -> {} stride {} dilation {} padding {}{}]", s.input, s.filter,
                      s.output, s.stride, s.dilation, s.padding, s.is_flipped ? " flipped" : "");
    if (c.bias) out += format(" bias {}", text(*c.bias));
    if (c.activation != Activation::none) out += format(" {}", name(c.activation));
    return out;
}

}  // namespace

std::string str(const LibraryCall& call) {
    return format("steps {}..{}: {}", call.first_step, call.first_step + call.step_count,
                  match(call.call, [](const auto& work) { return text(work); }));
}

}  // namespace ricci::codegen
