// codegen/implied_conditions.cpp – conditions that hold at every point, dropped
#include "codegen/implied_conditions.h"

#include <algorithm>
#include <vector>

#include "dsl/affine_form.h"
#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// Whether the conjunct is affine and true wherever the indices lie in their ranges. Numbers that
/// leave 64 bits wrap, and say something else.
bool is_implied(const BoundProgram& program, const BoundEquation& equation, Expr conjunct) {
    const auto leaves_64_bits = [&](Expr node) {
        return node->dtype == DType::i64 && !integer_range(program.indices, node);
    };
    if (contains(conjunct, leaves_64_bits)) return false;
    Variables variables;
    affine::System said;
    if (!add_condition(said, conjunct, variables).empty()) return false;
    affine::System ranges;
    for (const std::vector<IndexId>* indices : {&equation.indices, &equation.reduction->indices})
        for (const IndexId id : *indices)
            ranges.in_range(variables.number(id), program.at(id).lower, program.at(id).upper);
    variables.define(ranges);
    const auto holds = [&](const affine::Form& form) { return affine::implies(ranges, form); };
    return std::ranges::all_of(said.inequalities, holds) &&
           std::ranges::all_of(said.equalities, [&](const affine::Form& form) {
               affine::Form negative = form;
               negative.constant = -negative.constant;
               for (std::int64_t& coefficient : negative.coefficients) coefficient = -coefficient;
               return holds(form) && holds(negative);
           });
}

/// Whether the conjunct holds for some value of the index, whatever the others are: all but one.
bool leaves_some(const BoundProgram& program, Expr conjunct, IndexId id) {
    if (!is_apply(conjunct, Op::ne) || program.at(id).extent() < 2) return false;
    const std::vector<Expr>& sides = std::get<Apply>(conjunct->term).args;
    const auto is_index = [&](Expr side) {
        const auto* index = std::get_if<IndexValue>(&side->term);
        return index != nullptr && index->index == id;
    };
    return (is_index(sides[0]) && !has_index(free_indices(sides[1]), id)) ||
           (is_index(sides[1]) && !has_index(free_indices(sides[0]), id));
}

/// Without an index of a minimum or maximum that the value does not depend on, where some value of
/// it always counts: checks that data lies inside need not run over `k` of `k != t[i]`.
void drop_idle_indices(const BoundProgram& program, BoundEquation& equation) {
    Reduction& reduction = *equation.reduction;
    if (reduction.reducer != Reducer::min && reduction.reducer != Reducer::max) return;
    for (const IndexId id : std::vector<IndexId>(reduction.indices)) {
        if (reduction.indices.size() == 1 || has_index(free_indices(equation.value), id) ||
            program.at(id).extent() == 0)
            continue;
        Expr left;
        std::vector<Expr> own;
        for (const Expr conjunct : conjuncts(reduction.condition))
            if (has_index(free_indices(conjunct), id))
                own.push_back(conjunct);
            else
                left = program.context->logical_and(left, conjunct);
        if (own.size() > 1 || (own.size() == 1 && !leaves_some(program, own[0], id))) continue;
        std::erase(reduction.indices, id);
        reduction.condition = left;
    }
}

}  // namespace

BoundProgram without_implied_conditions(BoundProgram program) {
    for (BoundEquation& equation : program.equations) {
        if (!equation.reduction) continue;
        Expr left;
        for (const Expr conjunct : conjuncts(equation.reduction->condition))
            if (!is_implied(program, equation, conjunct))
                left = program.context->logical_and(left, conjunct);
        equation.reduction->condition = left;
        drop_idle_indices(program, equation);
    }
    return program;
}

}  // namespace ricci::codegen
