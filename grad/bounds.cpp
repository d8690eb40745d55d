// grad/bounds.cpp – between which values a subscript lies
#include "grad/bounds.h"

#include <utility>
#include <vector>

#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci::grad {

namespace {

/// A constant factor of unknown sign times an index.
std::optional<Bounds> bounds_of_product(const Program& program, Expr product) {
    Context& context = *program.context;
    std::vector<Expr> constants;
    std::optional<Bounds> varying;
    for (const Expr factor : std::get<Apply>(product->term).args) {
        if (free_indices(factor).empty()) {
            constants.push_back(factor);
        } else if (varying) {
            return std::nullopt;
        } else {
            varying = bounds_of(program, factor);
            if (!varying) return std::nullopt;
        }
    }
    const Expr constant =
        constants.size() == 1 ? constants.front() : context.apply(Op::mul, constants);
    const Expr a = integer_product(context, constant, varying->low);
    const Expr b = integer_product(context, constant, varying->high);
    if (std::holds_alternative<Size>(constant->term)) return Bounds{a, b};
    return Bounds{smaller(context, a, b), larger(context, a, b)};
}

std::optional<Bounds> bounds_of_atom(const Program& program, Expr atom) {
    Context& context = *program.context;
    if (free_indices(atom).empty()) return Bounds{atom, atom};
    if (const auto* value = std::get_if<IndexValue>(&atom->term)) {
        const Index& index = program.at(value->index);
        return Bounds{index.lower, integer_difference(context, index.upper, context.integer(1))};
    }
    if (is_apply(atom, Op::floordiv)) {
        const auto& args = std::get<Apply>(atom->term).args;
        const auto inner = bounds_of(program, args[0]);
        if (!inner || !free_indices(args[1]).empty()) return std::nullopt;
        return Bounds{floor_quotient(context, inner->low, args[1]),
                      floor_quotient(context, inner->high, args[1])};
    }
    if (is_apply(atom, Op::mul)) return bounds_of_product(program, atom);
    return std::nullopt;
}

}  // namespace

std::optional<Bounds> bounds_of(const Program& program, Expr e) {
    Context& context = *program.context;
    const auto form = linear_form(e);
    if (!form) return std::nullopt;
    Bounds total{context.integer(form->constant), context.integer(form->constant)};
    for (const LinearForm::Part& part : form->parts) {
        auto atom = bounds_of_atom(program, part.atom);
        if (!atom) return std::nullopt;
        if (part.coefficient < 0) std::swap(atom->low, atom->high);
        const auto scaled = [&](Expr x) { return integer_scale(context, x, part.coefficient); };
        total.low = integer_sum(context, total.low, scaled(atom->low));
        total.high = integer_sum(context, total.high, scaled(atom->high));
    }
    return total;
}

}  // namespace ricci::grad
