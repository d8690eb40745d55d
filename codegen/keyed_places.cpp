// codegen/keyed_places.cpp – places of the extreme elements of each key
#include "codegen/keyed_places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "dsl/affine_form.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

constexpr std::int64_t least_keys = 9;

/// Whether a conjunct says that an index of the result is data.
bool is_key(const BoundProgram& program, const BoundEquation& equation, Expr conjunct) {
    if (!is_apply(conjunct, Op::eq)) return false;
    const auto& args = std::get<Apply>(conjunct->term).args;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        const auto* value = std::get_if<IndexValue>(&args[side]->term);
        const Expr key = args[1 - side];
        if (value != nullptr && has_index(equation.indices, value->index) &&
            program.at(value->index).extent() >= least_keys && !tensors_read(key).empty() &&
            !has_index(free_indices(key), value->index))
            return true;
    }
    return false;
}

/// An element as it is stored, or that in another type.
bool is_element(Expr e) {
    const auto* cast = std::get_if<Cast>(&e->term);
    return std::holds_alternative<Access>((cast != nullptr ? cast->a : e)->term);
}

bool is_of_keys(const BoundProgram& program, const BoundEquation& equation) {
    if (!equation.reduction || equation.op != Assign::define) return false;
    const Reduction& reduction = *equation.reduction;
    if (reduction.reducer != Reducer::argmax && reduction.reducer != Reducer::argmin) return false;
    const std::vector<Expr> parts = conjuncts(reduction.condition);
    return is_element(equation.value) &&
           std::ranges::any_of(parts, [&](Expr part) { return is_key(program, equation, part); });
}

/// The extremes, and then their places.
void split(EquationMaker& make, BoundEquation equation) {
    BoundProgram& program = make.program();
    Context& context = make.context();
    Reduction extremes = *equation.reduction;
    extremes.reducer = extremes.reducer == Reducer::argmax ? Reducer::max : Reducer::min;
    const DType dtype = equation.value->dtype;
    extremes.accumulator = dtype;
    Shape shape;
    for (const IndexId id : equation.indices) shape.push_back(program.at(id).extent());
    const TensorId best = make.array(program.at(equation.target).name + "_best", dtype, shape);
    const std::vector<Expr> at = make.offsets(equation.indices);
    make.define(best, at, equation.indices, equation.value, extremes);

    Expr is_best = make.compare(Op::eq, equation.value, context.access(best, at, dtype));
    if (is_floating(dtype))
        is_best = context.apply(
            Op::logical_or, {is_best, context.apply(Op::isnan, {equation.value}, DType::boolean)},
            DType::boolean);
    const IndexId index = equation.reduction->indices.front();
    equation.reduction->reducer = Reducer::min;
    equation.reduction->condition = make.both(equation.reduction->condition, is_best);
    equation.reduction->accumulator = DType::i64;
    equation.value = make.value(index);
    program.equations.push_back(std::move(equation));
}

}  // namespace

BoundProgram with_keyed_places(BoundProgram program) {
    if (std::ranges::none_of(program.equations, [&](const BoundEquation& equation) {
            return is_of_keys(program, equation);
        }))
        return program;
    EquationMaker make(program);
    for (BoundEquation& equation : std::exchange(program.equations, {}))
        if (is_of_keys(program, equation))
            split(make, std::move(equation));
        else
            program.equations.push_back(std::move(equation));
    return program;
}

}  // namespace ricci::codegen
