// codegen/pair_products.cpp – sums of products of two bf16 numbers, two reduced points at a time
#include "codegen/pair_products.h"

#include <algorithm>

#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// The load of bf16 whose f32 a value is.
const Load* converted_load(const Value& value) {
    const Value bf16 = unconverted(value);
    return bf16 ? std::get_if<Load>(&bf16->term) : nullptr;
}

bool are_neighbours(const Load* first, const Load* second) {
    return first != nullptr && second != nullptr && first->buffer == second->buffer &&
           is_next(first->at, second->at);
}

}  // namespace

Value unconverted(const Value& term) {
    const auto* convert = std::get_if<Convert>(&term->term);
    const bool is_exact =
        convert != nullptr && term->dtype == DType::f32 && convert->a->dtype == DType::bf16;
    return is_exact ? convert->a : nullptr;
}

bool is_pair_product(const Kernel& kernel, const Contraction& contraction, const Target& target) {
    if (!target.has_bf16_dot || kernel.reducer != Reducer::sum || !kernel.conditions.is_empty())
        return false;
    const auto& rows = contraction.row_operands;
    const auto& columns = contraction.column_operands;
    if (rows.size() != 1 || columns.size() != 1 || !contraction.held.empty()) return false;
    if (!is_operation(contraction.body, Op::mul)) return false;
    const std::vector<Value> factors = operands(contraction.body);
    return factors.size() == 2 && std::ranges::find(factors, rows[0].term) != factors.end() &&
           std::ranges::find(factors, columns[0].term) != factors.end() &&
           unconverted(rows[0].term) && unconverted(columns[0].term);
}

std::vector<Axis> with_pairs_last(std::vector<Axis> reduced) {
    const auto rank = [](const Axis& axis) {
        return std::pair(axis.extent % 2 == 0, axis.extent % 2 == 0 ? 0 : axis.extent);
    };
    // Of equal ones the last, whose order stays.
    auto best = reduced.begin();
    for (auto axis = reduced.begin(); axis != reduced.end(); ++axis)
        if (rank(*axis) >= rank(*best)) best = axis;
    std::rotate(best, best + 1, reduced.end());
    return reduced;
}

std::vector<Axis> padded_to_pairs(std::vector<Axis> reduced) {
    reduced.back().extent += reduced.back().extent % 2;
    return reduced;
}

Value make_pair_product(const LoadPair& a, const LoadPair& b) {
    const auto product = [&](std::size_t i) {
        return make_operation(
            Op::mul, {make_convert(a[i], DType::f32), make_convert(b[i], DType::f32)}, DType::f32);
    };
    return make_operation(Op::add, {product(0), product(1)}, DType::f32);
}

std::optional<PairProduct> as_pair_product(const Value& value) {
    if (!is_operation(value, Op::add)) return std::nullopt;
    std::vector<const Load*> loads;
    for (const Value& product : operands(value)) {
        if (!is_operation(product, Op::mul)) return std::nullopt;
        for (const Value& factor : operands(product)) loads.push_back(converted_load(factor));
    }
    if (loads.size() != 4 || !are_neighbours(loads[0], loads[2]) ||
        !are_neighbours(loads[1], loads[3]))
        return std::nullopt;
    return PairProduct{loads[0], loads[1]};
}

bool is_next(const Address& first, const Address& second) {
    return !first.computed && !second.computed && second.affine == first.affine + form(1);
}

}  // namespace ricci::codegen
