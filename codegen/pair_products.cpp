// codegen/pair_products.cpp – sums of products of two numbers of 16 bits, two reduced points at a
// time
#include "codegen/pair_products.h"

#include <algorithm>

#include "codegen/integer_ranges.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// The type in which products of numbers of 16 bits are summed.
DType sum_dtype(DType dtype) { return dtype == DType::bf16 ? DType::f32 : DType::i32; }

/// The load of bf16 whose f32 a value is, or of i16 whose i32.
const Load* converted_load(const Value& value) {
    const auto* convert = std::get_if<Convert>(&value->term);
    if (convert == nullptr) return nullptr;
    const DType from = convert->a->dtype;
    const bool is_pair_dtype = from == DType::bf16 || from == DType::i16;
    return is_pair_dtype && value->dtype == sum_dtype(from) ? std::get_if<Load>(&convert->a->term)
                                                            : nullptr;
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

Value pair_term(const Value& term) {
    if (term->dtype != DType::i32) return unconverted(term);
    if (!is_within(TermRanges().of(term), DType::i16)) return nullptr;
    const auto* convert = std::get_if<Convert>(&term->term);
    return make_convert(convert && is_integer(convert->a->dtype) ? convert->a : term, DType::i16,
                        true);
}

bool is_pair_product(const Kernel& kernel, const Contraction& contraction, const Target& target) {
    if (kernel.reducer != Reducer::sum || !kernel.conditions.is_empty()) return false;
    if (kernel.body->dtype != DType::i32 && !target.has_bf16_dot) return false;
    const auto& rows = contraction.row_operands;
    const auto& columns = contraction.column_operands;
    if (rows.size() != 1 || columns.size() != 1 || !contraction.held.empty()) return false;
    if (!is_operation(contraction.body, Op::mul)) return false;
    const std::vector<Value> factors = operands(contraction.body);
    return factors.size() == 2 && std::ranges::find(factors, rows[0].term) != factors.end() &&
           std::ranges::find(factors, columns[0].term) != factors.end() &&
           pair_term(rows[0].term) && pair_term(columns[0].term);
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
    const DType sum = sum_dtype(a[0]->dtype);
    const auto product = [&](std::size_t i) {
        return make_operation(Op::mul, {make_convert(a[i], sum), make_convert(b[i], sum)}, sum);
    };
    return make_operation(Op::add, {product(0), product(1)}, sum);
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
