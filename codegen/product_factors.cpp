// codegen/product_factors.cpp – what a bound program sums, as products
#include "codegen/product_factors.h"

#include <algorithm>
#include <utility>

#include "codegen/reads_inside.h"
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
    if (equation.op == Assign::define && !equation.reduction && equation.is_injective &&
        !is_output && target.role == Role::temporary && target.dtype == equation.value->dtype &&
        is_product(equation.value))
        temporaries_.emplace(equation.target, equation);
}

Product ProductFactors::factors_of(Expr e, const std::vector<IndexId>& summed) {
    Product product;
    add(product, e, summed);
    return product.factors.size() > most_factors ? Product{.factors = {e}} : product;
}

void ProductFactors::add(Product& product, Expr e, const std::vector<IndexId>& summed) {
    if (product.factors.size() > most_factors) return;
    if (const auto* access = std::get_if<Access>(&e->term)) {
        const auto found = temporaries_.find(access->tensor);
        if (found != temporaries_.end() && found->second.value->dtype == e->dtype)
            if (const auto at = make_.indices_at(found->second, *access))
                return add(product, make_.with(found->second.value, *at), summed);
    }
    if (!is_product(e)) return product.factors.push_back(e);
    const auto& apply = std::get<Apply>(e->term);
    if (apply.op == Op::neg) product.is_negative = !product.is_negative;
    const std::size_t first = product.factors.size();
    add(product, apply.args[0], summed);
    if (apply.op == Op::mul)
        for (std::size_t n = 1; n < apply.args.size(); ++n) add(product, apply.args[n], summed);
    if (apply.op != Op::div || first >= product.factors.size()) return;
    const std::vector<IndexId> indices = free_indices(apply.args[1]);
    if (std::ranges::none_of(summed, [&](IndexId id) { return has_index(indices, id); }))
        return product.divisors.push_back(apply.args[1]);
    std::vector<Expr> args = apply.args;
    args[0] = product.factors[first];
    product.factors[first] = make_.context().apply(Op::div, std::move(args), e->dtype);
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
