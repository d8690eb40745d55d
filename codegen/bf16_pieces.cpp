// codegen/bf16_pieces.cpp – operands of products as sums of bf16 numbers, in arrays of their own
#include "codegen/bf16_pieces.h"

#include <utility>

#include "codegen/lower.h"

namespace ricci::codegen {

std::vector<Value> bf16_pieces(const Value& f32, std::size_t pieces) {
    std::vector<Value> all;
    Value rest = f32;
    while (true) {
        all.push_back(make_convert(rest, DType::bf16));
        if (all.size() == pieces) return all;
        const Value taken =
            make_operation(Op::neg, {make_convert(all.back(), DType::f32)}, DType::f32);
        rest = make_operation(Op::add, {rest, taken}, DType::f32);
    }
}

AffineForm PieceArrays::at(std::size_t piece) const {
    AffineForm element = form(std::int64_t(piece) * elements);
    for (const PlacedAxis& each : axes) element = element + form(each.axis.var, each.step);
    return element;
}

PieceArrays place_pieces(const Kernel& kernel, const std::vector<Value>& pieces,
                         std::vector<PlacedAxis> axes, std::int64_t elements,
                         const std::string& name, PlanBuilder& builder) {
    const auto count = std::int64_t(pieces.size());
    PieceArrays arrays{builder.temporary(name, DType::bf16, count * elements), elements,
                       std::move(axes)};
    Kernel copy = kernel.step_beside(name);
    for (const PlacedAxis& each : arrays.axes) copy.free.push_back(each.axis);
    const BufferId to = copy.argument(builder.plan(), arrays.place, true);
    for (std::size_t p = 0; p < pieces.size(); ++p)
        copy.writes.push_back(
            {.buffer = to, .at = {arrays.at(p)}, .value = pieces[p], .combine = std::nullopt});
    // What an axis has more than points is 0, whatever the others are.
    std::vector<Kernel> steps{copy};
    for (std::size_t padded = 0; padded < arrays.axes.size(); ++padded) {
        const PlacedAxis& axis = arrays.axes[padded];
        const std::int64_t more = axis.extent - axis.axis.extent;
        if (more == 0) continue;
        Kernel& zeros = steps.emplace_back(copy);
        zeros.nest.name += "_zeros";
        for (std::size_t a = 0; a < padded; ++a) zeros.free[a].extent = arrays.axes[a].extent;
        zeros.free[padded].extent = more;
        Substitution beyond;
        beyond.replace(axis.axis.var, form(axis.axis.var) + form(axis.axis.extent));
        for (Store& write : zeros.writes) {
            write.at = beyond(write.at);
            write.value = make_number(DType::bf16, 0);
        }
    }
    for (Kernel& step : steps) lower(std::move(step), builder);
    return arrays;
}

}  // namespace ricci::codegen
