// codegen/lane_masks.cpp – which lanes of a tile are taken at which reduced points
#include "codegen/lane_masks.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <ranges>

#include "codegen/lane_steps.h"

namespace ricci::codegen {

namespace {

/// So many masks of a tile may be set before its sums.
constexpr std::int64_t most_masks = 64;

}  // namespace

bool is_narrow(const Kernel& kernel, const ContractionChoice& choice, const Target& target) {
    constexpr std::int64_t most_rows = 4;
    const TileShape& tile = choice.tile;
    if (choice.rows_of_tile() > most_rows || is_some_packed(choice.columns)) return false;
    double bytes = double(tile.columns()) * double(size_bytes(kernel.body->dtype));
    for (const Axis& axis : kernel.reduced) {
        const bool is_near =
            std::ranges::all_of(choice.contraction.column_operands, [&](const Operand& each) {
                const auto* load = std::get_if<Load>(&each.term->term);
                return load && std::abs(load->at.affine.coefficient(axis.var)) == 1;
            });
        if (!is_near) bytes *= double(axis.extent);
    }
    return 2 * bytes > double(target.l1_bytes);
}

void LaneMasks::take_conditions(Kernel& kernel, VarId lane, bool set_before) {
    std::vector<AffineForm>& forms = kernel.conditions.at_least_zero;
    const auto is_bound = [&](const AffineForm& form) { return form.coefficient(lane) == 0; };
    const auto tested = std::ranges::stable_partition(forms, is_bound);
    conditions_.assign(tested.begin(), tested.end());
    forms.erase(tested.begin(), tested.end());
    const auto is_outer = [&](const Axis& axis) {
        return std::ranges::any_of(
            conditions_, [&](const AffineForm& form) { return form.coefficient(axis.var) != 0; });
    };
    std::ranges::copy_if(kernel.reduced, std::back_inserter(axes_), is_outer);
    if (set_before && points(axes_) <= most_masks) return;
    axes_.clear();
    const auto inner = std::ranges::stable_partition(kernel.reduced, is_outer);
    outer_loops_ = std::size_t(inner.begin() - kernel.reduced.begin());
}

void LaneMasks::make_registers(Nest& nest, const Lanes& lanes, DType dtype, const Target& target) {
    lanes_ = lanes;
    if (!axes_.empty() && !has_masked_stores(target))
        kept_ = size_bytes(dtype) == 8 ? DType::i64 : DType::i32;
    const std::int64_t elements = lanes.lanes * lanes.unroll;
    mask_ = axes_.empty() ? add_registers(nest, "mask", kept_, elements)
                          : add_scratch(nest, "masks", kept_, points(axes_) * elements);
}

Body LaneMasks::set(Nest& nest,
                    const std::function<Value(const AffineForm& lane)>& is_taken) const {
    if (!mask_) return {};
    Body body = over_lanes(nest, lanes_, [&](const AffineForm& lane) {
        Body store;
        Value taken = is_taken(lane);
        if (kept_ != DType::boolean)
            taken = make_operation(Op::select,
                                   {taken, make_number(kept_, -1), make_number(kept_, 0)}, kept_);
        store.push_back(make_store(*mask_, {place() + lane}, taken));
        return store;
    });
    for (const Axis& axis : std::views::reverse(axes_)) {
        Body loop;
        loop.push_back(make_loop(axis.var, Bind::serial, axis.extent, std::move(body)));
        body = std::move(loop);
    }
    return body;
}

Value LaneMasks::is_taken(const Nest& nest, const AffineForm& lane) const {
    if (!mask_) return nullptr;
    Value kept = make_load(nest, *mask_, {place() + lane});
    if (kept_ == DType::boolean) return kept;
    return make_operation(Op::lt, {kept, make_number(kept_, 0)}, DType::boolean);
}

Value LaneMasks::is_first() const {
    if (axes_.empty()) return nullptr;
    AffineForm sum;
    for (const Axis& axis : axes_) sum = sum + form(axis.var);
    return make_operation(Op::eq, {make_index(sum), make_integer(0)}, DType::boolean);
}

AffineForm LaneMasks::place() const {
    AffineForm place;
    for (const Axis& axis : axes_)
        place = axis.extent * place + form(axis.var, lanes_.lanes * lanes_.unroll);
    return place;
}

}  // namespace ricci::codegen
