// codegen/padded_updates.cpp – updates of which some points write nothing
#include "codegen/padded_updates.h"

#include <algorithm>

#include "dsl/affine_form.h"
#include "dsl/neutral.h"

namespace ricci::codegen {

namespace {

bool is_zero(EquationMaker& make, Expr value) {
    const Expr negative = neutral(make.context(), Assign::add, value->dtype);
    return value == negative || value == identity(make.context(), Reducer::sum, value->dtype);
}

/// What is brought inside a dimension of that extent; empty: another term.
Expr clamped(EquationMaker& make, Expr subscript, std::int64_t extent) {
    const auto* apply = std::get_if<Apply>(&subscript->term);
    const bool is_whole = apply != nullptr && apply->op == Op::clamp &&
                          apply->args[1] == make.integer(0) &&
                          apply->args[2] == make.integer(extent - 1);
    return is_whole ? apply->args[0] : Expr();
}

}  // namespace

std::optional<PaddedUpdate> find_padded_update(EquationMaker& make, const BoundEquation& equation) {
    const auto* choice = std::get_if<Apply>(&equation.value->term);
    if (equation.op != Assign::add || equation.reduction || choice == nullptr ||
        choice->op != Op::select || !is_zero(make, choice->args[2]))
        return std::nullopt;
    std::vector<Expr> parts = conjuncts(choice->args[0]);
    const auto take = [&](Expr part) { return std::erase(parts, part) > 0; };
    const Shape& shape = make.program().at(equation.target).shape;
    PaddedUpdate found{.at = {}, .is_padded = {}, .value = choice->args[1], .condition = {}};
    for (std::size_t d = 0; d < equation.at.size(); ++d) {
        const Expr inner = clamped(make, equation.at[d], shape[d]);
        found.at.push_back(inner ? inner : equation.at[d]);
        found.is_padded.push_back(bool(inner));
        if (!inner) continue;
        const bool is_above = take(make.compare(Op::ge, inner, make.integer(0)));
        const bool is_below = take(make.compare(Op::lt, inner, make.integer(shape[d])));
        if (!is_above || !is_below) return std::nullopt;
    }
    if (std::ranges::find(found.is_padded, true) == found.is_padded.end()) return std::nullopt;
    for (const Expr part : parts) found.condition = make.both(found.condition, part);
    return found;
}

}  // namespace ricci::codegen
