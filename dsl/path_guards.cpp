// dsl/path_guards.cpp – what must hold for the reductions of a term to be evaluated
#include "dsl/path_guards.h"

#include <algorithm>

#include "dsl/affine_form.h"

namespace ricci {
namespace {

/// Whether all that the second says is said by the first, part by part.
bool implies(Expr guard, Expr other) {
    const std::vector<Expr> parts = conjuncts(guard);
    return std::ranges::all_of(
        conjuncts(other), [&](Expr part) { return std::ranges::find(parts, part) != parts.end(); });
}

}  // namespace

PathGuards::PathGuards(Context& context, Expr root, const std::vector<IndexId>& indices,
                       Nesting nesting)
    : context_(context) {
    std::vector<Place> stack{{root, Expr(), indices}};
    while (!stack.empty()) {
        const Place place = std::move(stack.back());
        stack.pop_back();
        if (!seen_.insert({place.e->id, place.guard ? place.guard->id + 1 : 0}).second) continue;
        const auto* reduce = std::get_if<Reduce>(&place.e->term);
        if (!reduce) {
            push_operands(stack, place);
            continue;
        }
        note(place);
        if (nesting == Nesting::outermost) continue;
        std::vector<IndexId> inside = place.around;
        inside.insert(inside.end(), reduce->indices.begin(), reduce->indices.end());
        stack.push_back(
            {reduce->body, context_.logical_and(place.guard, reduce->condition), inside});
        if (reduce->condition) stack.push_back({reduce->condition, place.guard, std::move(inside)});
    }
}

void PathGuards::note(const Place& place) {
    const auto [found, is_new] = found_.emplace(place.e, Found{place.guard, place.around});
    if (is_new) {
        order_.push_back(place.e);
        return;
    }
    Expr& guard = found->second.guard;
    if (!guard || implies(place.guard, guard)) return;
    guard = implies(guard, place.guard) ? place.guard
                                        : context_.apply(Op::logical_or, {guard, place.guard});
}

void PathGuards::push_operands(std::vector<Place>& stack, const Place& place) {
    const std::vector<Expr> args = operands(place.e);
    const bool is_choice = is_apply(place.e, Op::select);
    for (std::size_t n = args.size(); n-- > 0;) {
        Expr inner = place.guard;
        const bool on_failure = is_apply(place.e, Op::logical_or) || (is_choice && n == 2);
        if (n > 0 && on_failure)
            inner = context_.logical_and(place.guard, context_.apply(Op::logical_not, {args[0]}));
        else if (n > 0 && (is_choice || is_apply(place.e, Op::logical_and)))
            inner = context_.logical_and(place.guard, args[0]);
        stack.push_back({args[n], inner, place.around});
    }
}

}  // namespace ricci
