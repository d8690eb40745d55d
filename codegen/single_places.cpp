// codegen/single_places.cpp – sums that one place of an axis has alone
#include "codegen/single_places.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/equation_maker.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/neutral.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// An index of the result and its place that a conjunct says.
struct Place {
    IndexId index{};
    std::int64_t number = 0;
};
std::optional<Place> place_of(const BoundProgram& program, const BoundEquation& equation,
                              Expr conjunct) {
    if (!is_apply(conjunct, Op::eq)) return std::nullopt;
    const std::vector<Expr>& sides = std::get<Apply>(conjunct->term).args;
    for (std::size_t n = 0; n < 2; ++n) {
        const auto* index = std::get_if<IndexValue>(&sides[n]->term);
        if (index == nullptr || !has_index(equation.indices, index->index)) continue;
        const std::optional<LinearForm> number = linear_form(sides[1 - n]);
        const BoundIndex& range = program.at(index->index);
        if (number && number->parts.empty() && number->constant >= range.lower &&
            number->constant < range.upper)
            return Place{index->index, number->constant};
    }
    return std::nullopt;
}

/// Whether the equation is a sum that makes a new array, of the type that it is summed in.
bool is_plain(const BoundProgram& program, const BoundEquation& equation) {
    return equation.reduction && equation.reduction->reducer == Reducer::sum &&
           !equation.reduction->carry && equation.op == Assign::define &&
           equation.reduction->accumulator == program.at(equation.target).dtype;
}

}  // namespace

BoundProgram with_single_places(BoundProgram program) {
    EquationMaker make(program);
    std::vector<BoundEquation> equations = std::exchange(program.equations, {});
    for (BoundEquation& equation : equations) {
        EquationMaker::Numbers places;
        Expr is_there;
        Expr left;
        if (is_plain(program, equation))
            for (const Expr conjunct : conjuncts(equation.reduction->condition)) {
                const std::optional<Place> place = place_of(program, equation, conjunct);
                if (place &&
                    places.emplace(std::uint32_t(place->index), make.integer(place->number)).second)
                    is_there = make.both(is_there, conjunct);
                else
                    left = make.both(left, conjunct);
            }
        if (places.empty()) {
            program.equations.push_back(std::move(equation));
            continue;
        }
        std::vector<IndexId> others = equation.indices;
        std::erase_if(others, [&](IndexId id) { return places.contains(std::uint32_t(id)); });
        Shape shape;
        for (const IndexId id : others) shape.push_back(program.at(id).extent());
        const BoundTensor& target = program.at(equation.target);
        const DType dtype = target.dtype;
        const TensorId sum = make.array(target.name + "_place", dtype, std::move(shape));
        Reduction reduction = *equation.reduction;
        reduction.condition = make.with(left, places);
        make.define(sum, make.offsets(others), others, make.with(equation.value, places),
                    std::move(reduction));
        const Expr element = make.context().access(sum, make.offsets(others), dtype);
        equation.value =
            make.choose(is_there, element, identity(make.context(), Reducer::sum, dtype));
        equation.reduction.reset();
        program.equations.push_back(std::move(equation));
    }
    return program;
}

}  // namespace ricci::codegen
