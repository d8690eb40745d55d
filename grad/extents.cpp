// grad/extents.cpp – what is known of sizes: which are equal, and which forms are never negative
#include "grad/extents.h"

#include <algorithm>

#include "dsl/extent.h"
#include "dsl/integer_facts.h"

namespace ricci::grad {

Extents::Extents(const Program& program) : context_(program.context.get()) {
    for (const Requirement& requirement : program.requirements) {
        if (requirement.kind == Requirement::Kind::equal) equate(requirement.a, requirement.b);
    }
    // The first value of a new array's index, `max(0, -c)`, has to be 0.
    for (const Requirement& requirement : program.requirements) {
        if (requirement.kind == Requirement::Kind::equal && is_literal(requirement.b))
            write_as(requirement.a, requirement.b);
    }
}

void Extents::equate(Expr a, Expr b) {
    const auto is_atom = [](Expr e) {
        return std::holds_alternative<Size>(e->term) || std::holds_alternative<Access>(e->term);
    };
    Expr from = normal(b);
    Expr to = normal(a);
    if (from == to) return;
    if (!is_atom(from)) std::swap(from, to);
    if (!is_atom(from) || contains(to, [&](Expr e) { return e == from; })) return;
    equal_.insert_or_assign(from, to);
    for (auto& [atom, form] : equal_) form = normal(form);
    ExprMap<Expr> renamed;
    for (const auto& [extent, text] : preferred_) renamed.emplace(normal(extent), text);
    preferred_ = std::move(renamed);
}

Expr Extents::normal(Expr extent) const {
    const Expr replaced = substitute(*context_, extent, equal_);
    const auto form = linear_form(replaced);
    return form ? to_expr(*context_, *form) : replaced;
}

std::vector<Expr> Extents::all_equal(Expr extent) const {
    const Expr form = normal(extent);
    std::vector<Expr> result{extent};
    if (form != extent) result.push_back(form);
    for (const auto& [atom, equal] : equal_) {
        if (equal == form && atom != extent) result.push_back(atom);
    }
    std::sort(result.begin() + 1, result.end(), [](Expr a, Expr b) { return a->id < b->id; });
    return result;
}

bool Extents::is_never_negative(const Program& program, Expr e) const {
    const auto form = linear_form(e);
    if (!form) return false;
    Expr least = context_->integer(form->constant);
    for (const auto& [atom, coefficient] : form->parts) {
        Expr extreme = atom;
        if (const auto* value = std::get_if<IndexValue>(&atom->term)) {
            const Index& index = program.at(value->index);
            extreme = coefficient > 0
                          ? index.lower
                          : integer_difference(*context_, index.upper, context_->integer(1));
        }
        least = integer_sum(*context_, least, integer_scale(*context_, extreme, coefficient));
    }
    return is_at_least(program, normal(least), 0);
}

bool Extents::is_inside(const Program& program, Expr subscript, Expr extent) const {
    const auto* modified = std::get_if<Modified>(&subscript->term);
    if (modified != nullptr && !modified->low) return true;
    if (modified != nullptr) {
        const Expr moved = integer_sum(*context_, modified->at, modified->low);
        const Expr padded =
            integer_sum(*context_, integer_sum(*context_, extent, modified->low), modified->high);
        return is_inside(program, moved, padded);
    }
    const Expr last = integer_difference(*context_, extent, context_->integer(1));
    return is_never_negative(program, subscript) &&
           is_never_negative(program, integer_difference(*context_, last, subscript));
}

void Extents::write_as(Expr extent, Expr preferred) {
    if (!std::holds_alternative<Size>(extent->term)) {
        preferred_.emplace(normal(extent), preferred);
    }
}

Expr Extents::preferred(Expr extent) const {
    if (is_literal(extent) || std::holds_alternative<Size>(extent->term)) return extent;
    const auto found = preferred_.find(normal(extent));
    return found == preferred_.end() ? extent : found->second;
}

}  // namespace ricci::grad
