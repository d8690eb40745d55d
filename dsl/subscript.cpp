// dsl/subscript.cpp – a subscript read as an affine form of indices
#include "dsl/subscript.h"

#include <algorithm>
#include <set>

#include "dsl/extent.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

/// An atom `a * b * index` with factors free of indices as (index, a * b).
std::optional<Subscript::Term> product_term(Context& context, Expr atom) {
    if (const auto* value = std::get_if<IndexValue>(&atom->term))
        return Subscript::Term{value->index, context.integer(1)};
    if (!is_apply(atom, Op::mul)) return std::nullopt;
    std::optional<IndexId> index;
    std::vector<Expr> factors;
    for (Expr factor : std::get<Apply>(atom->term).args) {
        const auto* value = std::get_if<IndexValue>(&factor->term);
        if (value && !index)
            index = value->index;
        else if (free_indices(factor).empty())
            factors.push_back(factor);
        else
            return std::nullopt;
    }
    if (!index) return std::nullopt;
    return Subscript::Term{*index,
                           factors.size() == 1 ? factors.front() : context.apply(Op::mul, factors)};
}

}  // namespace

bool is_negative(Expr e) noexcept {
    const auto* literal = e ? std::get_if<Literal>(&e->term) : nullptr;
    const auto* value = literal ? std::get_if<std::int64_t>(&literal->value) : nullptr;
    return value && *value < 0;
}

bool reads_data(const Program& program, Expr e) {
    return contains(e, [&](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        return access && program.at(access->tensor).role != Role::scalar;
    });
}

bool holds_gather(const Program& program, const std::vector<Expr>& roots) {
    const std::vector<Expr> nodes = postorder(roots);
    return std::ranges::any_of(nodes, [&](Expr e) {
        const auto* access = std::get_if<Access>(&e->term);
        return access &&
               std::ranges::any_of(access->at, [&](Expr at) { return reads_data(program, at); });
    });
}

Expr with_wide_data(const Program& program, Expr e) {
    Context& context = *program.context;
    ExprMap<Expr> widened;
    std::set<const Node*> seen;
    std::vector<Expr> stack{e};
    while (!stack.empty()) {
        const Expr node = stack.back();
        stack.pop_back();
        if (!seen.insert(&*node).second) continue;
        const auto* access = std::get_if<Access>(&node->term);
        const auto* apply = std::get_if<Apply>(&node->term);
        if (access && program.at(access->tensor).role != Role::scalar) {
            widened.emplace(node, context.cast(node, DType::i64));
        } else if (apply && info(apply->op).type != TypeRule::boolean) {
            const std::size_t first = apply->op == Op::select ? 1 : 0;
            stack.insert(stack.end(), apply->args.begin() + std::ptrdiff_t(first),
                         apply->args.end());
        }
    }
    return substitute(context, e, widened);
}

std::vector<TensorId> integers_in_place(const Program& program, Expr subscript) {
    std::set<TensorId> found;
    std::set<const Node*> seen;
    std::vector<Expr> stack{subscript};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!seen.insert(&*e).second || std::holds_alternative<Cast>(e->term)) continue;
        if (const auto* access = std::get_if<Access>(&e->term)) {
            if (program.at(access->tensor).role != Role::scalar) found.insert(access->tensor);
            continue;
        }
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply && info(apply->op).type == TypeRule::boolean) continue;
        std::vector<Expr> below = operands(e);
        if (is_apply(e, Op::select)) below.erase(below.begin());
        stack.insert(stack.end(), below.begin(), below.end());
    }
    return {found.begin(), found.end()};
}

std::vector<TensorId> scalars_in_place(const Program& program, Expr subscript) {
    std::set<TensorId> found;
    std::set<const Node*> seen;
    std::vector<Expr> stack{subscript};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!seen.insert(&*e).second) continue;
        const auto* access = std::get_if<Access>(&e->term);
        if (access && program.at(access->tensor).role == Role::scalar) found.insert(access->tensor);
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply && info(apply->op).type == TypeRule::boolean) continue;
        std::vector<Expr> below = operands(e);
        if (is_apply(e, Op::select)) below.erase(below.begin());
        stack.insert(stack.end(), below.begin(), below.end());
    }
    return {found.begin(), found.end()};
}

namespace {

/// `e // c + r` with a constant r, which is `(e + c*r) // c`.
struct Quotient {
    Expr e, divisor, shift;
};
std::optional<Quotient> read_quotient(Context& context, Expr subscript) {
    const auto form = linear_form(subscript);
    if (!form) return std::nullopt;
    std::optional<Quotient> result;
    Expr rest = context.integer(form->constant);
    for (const LinearForm::Part& part : form->parts) {
        if (free_indices(part.atom).empty()) {
            rest = integer_sum(context, rest, integer_scale(context, part.atom, part.coefficient));
            continue;
        }
        if (result || part.coefficient != 1 || !is_apply(part.atom, Op::floordiv))
            return std::nullopt;
        const auto& args = std::get<Apply>(part.atom->term).args;
        if (!free_indices(args[1]).empty()) return std::nullopt;
        result = Quotient{args[0], args[1], Expr()};
    }
    if (result) result->shift = integer_product(context, result->divisor, rest);
    return result;
}

Subscript read_modified(const Program& program, const Modified& modified) {
    Subscript result = read_subscript(program, modified.at);
    result.plain.reset();
    if (modified.low) {
        result.padding.emplace(modified.low, modified.high);
    } else {
        result.is_free = true;
        result.is_opaque = true;
        result.terms.clear();
    }
    return result;
}

}  // namespace

Subscript read_subscript(const Program& program, Expr e) {
    if (const auto* modified = std::get_if<Modified>(&e->term))
        return read_modified(program, *modified);
    Context& context = *program.context;
    Subscript result;
    result.indices = free_indices(e);
    result.rest = context.integer(0);
    if (reads_data(program, e)) {
        result.is_gathered = true;
        result.is_opaque = true;
        return result;
    }
    if (const auto* value = std::get_if<IndexValue>(&e->term)) result.plain = value->index;
    if (const auto quotient = read_quotient(context, e)) {
        result.divisor = quotient->divisor;
        result.rest = quotient->shift;
        e = quotient->e;
    }
    const auto form = linear_form(e);
    if (!form) {
        result.is_opaque = true;
        return result;
    }
    result.rest = integer_sum(context, result.rest, context.integer(form->constant));
    for (const LinearForm::Part& part : form->parts) {
        auto term = product_term(context, part.atom);
        if (term && !result.is_linear_in(term->index)) {
            term->coefficient = integer_scale(context, term->coefficient, part.coefficient);
            result.terms.push_back(*term);
        } else if (!term && free_indices(part.atom).empty()) {
            result.rest = integer_sum(context, result.rest,
                                      integer_scale(context, part.atom, part.coefficient));
        } else {
            result.is_opaque = true;  // not affine, or no one coefficient: `2*i + $s*i`
        }
    }
    if (result.is_opaque) result.terms.clear();
    return result;
}

}  // namespace ricci
