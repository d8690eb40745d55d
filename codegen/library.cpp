// codegen/library.cpp – library calls as text
#include "codegen/library.h"

#include "base/match.h"
#include "base/text.h"

namespace ricci::codegen {

namespace {

std::string text(const MatrixOperand& operand) {
    std::string out = format("{}[{} + {}m + {}n + {}b", operand.place, operand.offset,
                             operand.row_stride, operand.column_stride, operand.batch_stride);
    if (operand.repeat_stride != 0) out += format(" + {}r", operand.repeat_stride);
    return out + "]";
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
    std::string out = format("matrix_product {} batch {} rows {} columns {} depth {}",
                             ricci::name(p.dtype), p.batch, p.rows, p.columns, p.depth);
    if (p.repeats != 1) out += format(" repeats {}", p.repeats);
    out += format(": {} = {} * {} x {}", text(p.result), p.alpha, text(p.left), text(p.right));
    if (p.addend) out += format(" + {} * {}", p.beta, text(*p.addend));
    if (p.bias) out += format(" + bias {}", text(*p.bias));
    if (p.activation != Activation::none) out += format(", {}", name(p.activation));
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
    if (c.alpha != 1) out += format(" alpha {}", c.alpha);
    if (c.beta != 0) out += format(" beta {}", c.beta);
    if (c.bias)
        out += format(" + bias {}[{} + {}g + {}o]", c.bias->place, c.bias->offset,
                      c.bias->group_stride, c.bias->channel_stride);
    if (c.activation != Activation::none) out += format(", {}", name(c.activation));
    return out;
}

}  // namespace

std::string str(const LibraryCall& call) {
    return format("steps {}..{}: {}{}", call.first_step, call.first_step + call.step_count,
                  match(call.call, [](const auto& work) { return text(work); }),
                  call.is_worthwhile ? "" : " (generated kernels do it in auto)");
}

}  // namespace ricci::codegen
