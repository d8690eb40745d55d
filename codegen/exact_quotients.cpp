// codegen/exact_quotients.cpp – sums over the points at which a quotient is exact
#include "codegen/exact_quotients.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::codegen {

namespace {

/// What is divided by a number, in a quotient or in `e % divisor == 0`.
struct Division {
    Expr dividend;
    LinearForm form;
    std::int64_t divisor = 1;
};

/// A quotient (`op` floordiv) or a remainder (mod) of indices alone by a number.
std::optional<Division> division(Expr e, Op op) {
    const auto* apply = std::get_if<Apply>(&e->term);
    if (!apply || apply->op != op) return std::nullopt;
    auto form = linear_form(apply->args[0]);
    const auto divisor = linear_form(apply->args[1]);
    if (!form || !divisor || !divisor->parts.empty() || divisor->constant < 2) return std::nullopt;
    const bool has_indices_alone =
        std::ranges::all_of(form->parts, [](const LinearForm::Part& part) {
            return std::holds_alternative<IndexValue>(part.atom->term);
        });
    if (!has_indices_alone) return std::nullopt;
    return Division{apply->args[0], std::move(*form), divisor->constant};
}

bool is_zero(Expr e) {
    const auto form = linear_form(e);
    return form && form->parts.empty() && form->constant == 0;
}

std::optional<Division> exact_division(Expr conjunct) {
    const auto* apply = std::get_if<Apply>(&conjunct->term);
    if (!apply || apply->op != Op::eq) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        if (is_zero(apply->args[1 - i]))
            if (auto found = division(apply->args[i], Op::mod)) return found;
    return std::nullopt;
}

/// How many divisors the second form is more than the first; nothing where they differ otherwise.
std::optional<std::int64_t> divisors_between(const LinearForm& from, const LinearForm& to,
                                             std::int64_t divisor) {
    const std::int64_t between = to.constant - from.constant;
    if (from.parts.size() != to.parts.size() || between % divisor != 0) return std::nullopt;
    for (const auto& [atom, coefficient] : from.parts)
        if (to.coefficient(atom) != coefficient) return std::nullopt;
    return between / divisor;
}

/// The equation with a new index for the quotient of one conjunct.
BoundEquation with_quotient(EquationMaker& make, const BoundEquation& equation, Expr conjunct,
                            const Division& exact) {
    std::int64_t low = exact.form.constant;
    std::int64_t high = exact.form.constant;
    for (const auto& [atom, coefficient] : exact.form.parts) {
        const BoundIndex& range = make.program().at(std::get<IndexValue>(atom->term).index);
        low += coefficient * (coefficient > 0 ? range.lower : range.upper - 1);
        high += coefficient * (coefficient > 0 ? range.upper - 1 : range.lower);
    }
    const IndexId quotient = make.index("z", 0);
    BoundIndex& range = make.program().indices.back();
    range.lower = ceil_div(low, exact.divisor);
    range.upper = floor_div(high, exact.divisor) + 1;

    BoundEquation result = equation;
    Reduction& reduction = *result.reduction;
    Expr condition =
        make.compare(Op::eq, exact.dividend, make.times(make.value(quotient), exact.divisor));
    for (const Expr part : conjuncts(reduction.condition))
        if (part != conjunct) condition = make.both(condition, part);
    ExprMap<Expr> to;
    for (const Expr e : postorder({result.value, condition}))
        if (const auto other = division(e, Op::floordiv); other && other->divisor == exact.divisor)
            if (const auto more = divisors_between(exact.form, other->form, exact.divisor))
                to[e] = make.add(make.value(quotient), make.integer(*more));
    result.value = substitute(make.context(), result.value, to);
    reduction.condition = substitute(make.context(), condition, to);
    reduction.indices.push_back(quotient);
    return result;
}

}  // namespace

std::optional<BoundEquation> over_exact_quotients(EquationMaker& make,
                                                  const BoundEquation& equation) {
    std::optional<BoundEquation> result;
    for (const Expr part : conjuncts(equation.reduction->condition)) {
        const auto exact = exact_division(part);
        if (!exact) continue;
        const auto is_reduced = [&](const LinearForm::Part& each) {
            const auto& indices = equation.reduction->indices;
            return std::ranges::find(indices, std::get<IndexValue>(each.atom->term).index) !=
                   indices.end();
        };
        const std::ptrdiff_t reduced = std::ranges::count_if(exact->form.parts, is_reduced);
        if (reduced == 0 || reduced == std::ssize(exact->form.parts)) continue;
        result = with_quotient(make, result ? *result : equation, part, *exact);
    }
    return result;
}

}  // namespace ricci::codegen
