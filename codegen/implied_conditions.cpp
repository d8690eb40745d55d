// codegen/implied_conditions.cpp – conditions that hold at every point, dropped
#include "codegen/implied_conditions.h"

#include <algorithm>

#include "dsl/affine_form.h"

namespace ricci::codegen {

namespace {

/// Whether the conjunct is affine and true wherever the indices lie in their ranges.
bool is_implied(const BoundProgram& program, const BoundEquation& equation, Expr conjunct) {
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

}  // namespace

BoundProgram without_implied_conditions(BoundProgram program) {
    for (BoundEquation& equation : program.equations) {
        if (!equation.reduction || !equation.reduction->condition) continue;
        Expr left;
        for (const Expr conjunct : conjuncts(equation.reduction->condition))
            if (!is_implied(program, equation, conjunct))
                left = program.context->logical_and(left, conjunct);
        equation.reduction->condition = left;
    }
    return program;
}

}  // namespace ricci::codegen
