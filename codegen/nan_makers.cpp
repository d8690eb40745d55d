// codegen/nan_makers.cpp – operands that are looked through for what could make a NaN
#include "codegen/nan_makers.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codegen/lane_steps.h"
#include "codegen/lower.h"
#include "codegen/nest_build.h"

namespace ricci::codegen {

namespace {

/// How often an element must be read for looking at it first to cost next to nothing.
constexpr double least_reads = 64;

/// What operands are known not to be, NaN apart.
enum class Numbers : std::uint8_t { below_infinity, above_minus_infinity, finite };

/// What a value may be under it. Finite sums and products may overflow.
struct Possible {
    bool nan = false;
    bool infinite = false;        ///< +inf
    bool minus_infinite = false;  ///< -inf
};

class Possibilities {
  public:
    Possibilities(Numbers numbers, std::vector<Value> operands)
        : numbers_(numbers), operands_(std::move(operands)) {}

    [[nodiscard]] Possible of(const Value& value) const {
        if (!is_floating(value->dtype)) return {.nan = true};
        if (std::ranges::find(operands_, value) != operands_.end())
            return {.infinite = numbers_ == Numbers::above_minus_infinity,
                    .minus_infinite = numbers_ == Numbers::below_infinity};
        if (const auto* number = std::get_if<Constant>(&value->term))
            return number->real < std::numeric_limits<double>::infinity() &&
                           number->real > -std::numeric_limits<double>::infinity()
                       ? Possible{}
                       : Possible{.nan = true};
        const auto* operation = std::get_if<Operate>(&value->term);
        if (operation == nullptr) return {.nan = true};
        const Possible a = of(operation->args[0]);
        if (operation->op == Op::neg) return {a.nan, a.minus_infinite, a.infinite};
        if (operation->op == Op::abs) return {a.nan, a.infinite || a.minus_infinite, false};
        if (operation->args.size() != 2) return {.nan = true};
        const Possible b = of(operation->args[1]);
        const bool is_nan = a.nan || b.nan;
        if (operation->op == Op::add)
            return {is_nan || (a.infinite && b.minus_infinite) || (a.minus_infinite && b.infinite),
                    true, true};
        if (operation->op != Op::mul) return {.nan = true};
        // A zero times an infinity, unless both factors are one value.
        const bool is_square = operation->args[0] == operation->args[1];
        const bool has_infinity = a.infinite || a.minus_infinite || b.infinite || b.minus_infinite;
        return {is_nan || (has_infinity && !is_square), true, true};
    }

  private:
    Numbers numbers_;
    std::vector<Value> operands_;
};

/// The least that must be known of the operands for the body never to be NaN.
std::optional<Numbers> sufficient(Reducer reducer, const Contraction& contraction) {
    std::array order = {Numbers::below_infinity, Numbers::above_minus_infinity, Numbers::finite};
    // The infinity that says "none" is -inf among maxima, +inf among minima.
    if (reducer == Reducer::min) std::swap(order[0], order[1]);
    for (const Numbers numbers : order)
        if (!Possibilities(numbers, all_terms(contraction)).of(contraction.body).nan)
            return numbers;
    return std::nullopt;
}

Value is_known(Numbers numbers, const Value& term) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto compare = [&](Op op, const Value& value, double bound) {
        return make_operation(op, {value, make_number(term->dtype, bound)}, DType::boolean);
    };
    if (numbers == Numbers::below_infinity) return compare(Op::lt, term, infinity);
    if (numbers == Numbers::above_minus_infinity) return compare(Op::gt, term, -infinity);
    return compare(Op::lt, make_operation(Op::abs, {term}, term->dtype), infinity);
}

/// How many elements of the operands are not known to be such numbers; null where looking does not
/// pay, where they are of another type than the body or cannot be read at all points.
Value count_unknown(Kernel& kernel, const std::vector<Value>& operands, Numbers numbers,
                    PlanBuilder& builder) {
    const DType dtype = kernel.body->dtype;
    if ((dtype != DType::f32 && dtype != DType::f64) || !kernel.slices.empty()) return nullptr;
    double looked_at = 0;
    for (const Value& term : operands) {
        if (term->dtype != dtype || !is_inside_everywhere(kernel, term)) return nullptr;
        looked_at += double(points(axes_of(kernel, term)));
    }
    if (double(points(kernel.free)) * double(points(kernel.reduced)) < least_reads * looked_at)
        return nullptr;
    Value all;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::string name = kernel.nest.name + "_nan" + (i == 0 ? "" : std::to_string(i + 1));
        const std::size_t place = builder.temporary(name, dtype, 1);
        Kernel count = kernel.step_beside(name);
        count.reduced = axes_of(kernel, operands[i]);
        count.reducer = Reducer::sum;
        count.body = make_operation(
            Op::select,
            {is_known(numbers, operands[i]), make_number(dtype, 0), make_number(dtype, 1)}, dtype);
        count.writes = {Store{.buffer = count.argument(builder.plan(), place, true),
                              .at = {},
                              .value = make_let_value(0, dtype),
                              .combine = std::nullopt}};
        lower(std::move(count), builder);
        const BufferId counted = kernel.argument(builder.plan(), place, false);
        const Value found = make_load(kernel.nest, counted, {});
        all = all ? make_operation(Op::add, {all, found}, dtype) : found;
    }
    return all;
}

}  // namespace

Value count_nan_makers(Kernel& kernel, const Contraction& contraction, PlanBuilder& builder) {
    if (kernel.reducer != Reducer::max && kernel.reducer != Reducer::min) return nullptr;
    if (!is_floating(kernel.body->dtype)) return nullptr;
    const std::optional<Numbers> numbers = sufficient(*kernel.reducer, contraction);
    return numbers ? count_unknown(kernel, all_terms(contraction), *numbers, builder) : nullptr;
}

Value count_not_finite(Kernel& kernel, const Value& term, PlanBuilder& builder) {
    return count_unknown(kernel, {term}, Numbers::finite, builder);
}

Value count_mask_needers(Kernel& kernel, const Contraction& contraction, PlanBuilder& builder) {
    if (kernel.reducer != Reducer::sum || has_masked_stores(builder.target())) return nullptr;
    const std::vector<Operand>& rows = contraction.row_operands;
    const std::vector<Operand>& columns = contraction.column_operands;
    if (rows.size() != 1 || columns.size() != 1 || !contraction.held.empty()) return nullptr;
    const auto* product = std::get_if<Operate>(&contraction.body->term);
    // Another factor may be of both operands, and no number where the columns' is 0.
    if (product == nullptr || product->op != Op::mul || product->args.size() != 2) return nullptr;
    const auto is_factor = [&](const Value& term) {
        return product->args[0] == term || product->args[1] == term;
    };
    if (!is_factor(rows[0].term) || !is_factor(columns[0].term)) return nullptr;
    return count_not_finite(kernel, rows[0].term, builder);
}

bool adds_where_it_compares(const Target& target) {
    return target.has_fma && target.cpu != "znver1" && target.cpu != "znver2";
}

Value quick_extremum(Reducer reducer, const Value& value, const Value& old) {
    const Value is_taken =
        make_operation(reducer == Reducer::max ? Op::gt : Op::lt, {value, old}, DType::boolean);
    return make_operation(Op::select, {is_taken, value, old}, value->dtype);
}

Value as_multiply_add(const Value& sum, const Value& one) {
    if (!is_operation(sum, Op::add)) return sum;
    const auto& args = std::get<Operate>(sum->term).args;
    return make_operation(Op::add, {make_operation(Op::mul, {args[0], one}, sum->dtype), args[1]},
                          sum->dtype);
}

}  // namespace ricci::codegen
