// codegen/product_factors.cpp – what a bound program sums, as products
#include "codegen/product_factors.h"

#include <algorithm>
#include <utility>

#include "codegen/reads_inside.h"
#include "dsl/affine_form.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

constexpr std::size_t most_factors = 16;

bool is_product(Expr e) {
    return is_apply(e, Op::mul) || is_apply(e, Op::neg) ||
           (is_apply(e, Op::div) && is_floating(e->dtype));
}

}  // namespace

void ProductFactors::note(const BoundEquation& equation) {
    const BoundProgram& program = make_.program();
    const BoundTensor& target = program.at(equation.target);
    const bool is_output =
        std::ranges::find(program.outputs, equation.target) != program.outputs.end();
    if (equation.op != Assign::define || !equation.is_injective || is_output ||
        target.dtype != equation.value->dtype || !is_product(equation.value))
        return;
    if (!equation.reduction)
        temporaries_.emplace(equation.target, Temporary{equation, {}});
    else if (std::optional<Temporary> point = one_point(equation))
        temporaries_.emplace(equation.target, std::move(*point));
}

std::optional<ProductFactors::Temporary> ProductFactors::one_point(const BoundEquation& equation) {
    const Reduction& reduction = *equation.reduction;
    if (reduction.reducer != Reducer::sum || reduction.indices.size() != 1 ||
        reduction.accumulator != equation.value->dtype)
        return std::nullopt;
    const IndexId index = reduction.indices[0];
    const std::vector<Expr> conditions = conjuncts(reduction.condition);
    for (const Expr conjunct : conditions) {
        if (!is_apply(conjunct, Op::eq)) continue;
        const std::vector<Expr>& sides = std::get<Apply>(conjunct->term).args;
        const std::size_t own = sides[0] == make_.value(index) ? 0 : 1;
        const auto* other = std::get_if<IndexValue>(&sides[1 - own]->term);
        if (sides[own] != make_.value(index) || other == nullptr || other->index == index ||
            make_.program().at(other->index).lower < make_.program().at(index).lower ||
            make_.program().at(other->index).upper > make_.program().at(index).upper)
            continue;
        EquationMaker::Numbers numbers;
        numbers.emplace(std::uint32_t(index), sides[1 - own]);
        Temporary result{equation, {}};
        result.equation.reduction.reset();
        result.equation.value = make_.with(equation.value, numbers);
        for (const Expr each : conditions)
            if (each != conjunct) result.conditions.push_back(make_.with(each, numbers));
        return result;
    }
    return std::nullopt;
}

Product ProductFactors::factors_of(Expr e, const std::vector<IndexId>& summed,
                                   const std::vector<Expr>& conditions) {
    Product product;
    add(product, e, summed, conditions);
    return product.factors.size() > most_factors ? Product{.factors = {e}} : product;
}

void ProductFactors::add(Product& product, Expr e, const std::vector<IndexId>& summed,
                         const std::vector<Expr>& conditions) {
    if (product.factors.size() > most_factors) return;
    if (const auto* access = std::get_if<Access>(&e->term)) {
        const auto found = temporaries_.find(access->tensor);
        const auto at = found == temporaries_.end()
                            ? std::nullopt
                            : make_.indices_at(found->second.equation, *access);
        const auto holds = [&](Expr condition) {
            return std::ranges::find(conditions, make_.with(condition, *at)) != conditions.end();
        };
        if (at && found->second.equation.value->dtype == e->dtype &&
            std::ranges::all_of(found->second.conditions, holds))
            return add(product, make_.with(found->second.equation.value, *at), summed, conditions);
    }
    if (!is_product(e)) return product.factors.push_back(e);
    const auto& apply = std::get<Apply>(e->term);
    if (apply.op == Op::neg) product.is_negative = !product.is_negative;
    const std::size_t first = product.factors.size();
    add(product, apply.args[0], summed, conditions);
    if (apply.op == Op::mul)
        for (std::size_t n = 1; n < apply.args.size(); ++n)
            add(product, apply.args[n], summed, conditions);
    if (apply.op != Op::div || first >= product.factors.size()) return;
    const std::vector<IndexId> indices = free_indices(apply.args[1]);
    if (std::ranges::none_of(summed, [&](IndexId id) { return has_index(indices, id); }))
        return product.divisors.push_back(apply.args[1]);
    const auto has_its_index = [&](Expr factor) {
        const std::vector<IndexId> own = free_indices(factor);
        return std::ranges::any_of(indices, [&](IndexId id) { return has_index(own, id); });
    };
    const auto begin = product.factors.begin() + std::ptrdiff_t(first);
    auto divided = std::find_if(begin, product.factors.end(), has_its_index);
    if (divided == product.factors.end()) divided = begin;
    *divided = make_.context().apply(Op::div, {*divided, apply.args[1]}, e->dtype);
}

Expr ProductFactors::term(const Product& product, DType dtype) {
    Context& context = make_.context();
    std::vector<Expr> factors = product.factors;
    if (factors.empty())
        factors = {is_integer(dtype) ? context.literal(Number(std::int64_t{1}), dtype)
                                     : context.literal(Number(1.0), dtype)};
    if (product.is_negative) factors[0] = context.apply(Op::neg, {factors[0]}, dtype);
    Expr term = factors.size() == 1 ? factors.front() : context.apply(Op::mul, factors, dtype);
    for (const Expr divisor : product.divisors)
        term = context.apply(Op::div, {term, divisor}, dtype);
    return term;
}

BoundEquation ProductFactors::as_product(const BoundEquation& sum, const Product& product,
                                         Expr condition) {
    const DType type = sum.reduction->accumulator;
    BoundEquation equation = sum;
    equation.reduction.reset();
    equation.value = term(product, type);
    if (condition)
        equation.value =
            make_.choose(condition, brought_inside(make_.program(), sum.indices, equation.value),
                         identity(make_.context(), Reducer::sum, type));
    equation.value =
        make_.context().cast(equation.value, make_.program().at(sum.target).dtype, true);
    return equation;
}

}  // namespace ricci::codegen
