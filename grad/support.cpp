// grad/support.cpp – where a derivative can be other than 0
#include "grad/support.h"

#include <algorithm>
#include <optional>

#include "dsl/affine_form.h"
#include "dsl/extent.h"
#include "dsl/simplify.h"
#include "dsl/walk.h"
#include "grad/cotangent.h"

namespace ricci::grad {

namespace {

/// Conditions in order of first use; nothing for what is 0 everywhere.
using Support = std::optional<std::vector<Expr>>;

bool has(const std::vector<Expr>& conditions, Expr condition) {
    return std::ranges::find(conditions, condition) != conditions.end();
}

/// Such reads may be inside only under the other conditions that stand beside them, so they are not
/// moved without them.
bool reads_at_data(Expr e) {
    return contains(e, [](Expr node) {
        const auto* access = std::get_if<Access>(&node->term);
        return access != nullptr &&
               std::ranges::any_of(access->at, [](Expr at) { return !tensors_read(at).empty(); });
    });
}

class Finder {
  public:
    Finder(const Program& program, const std::vector<IndexId>& indices,
           const std::function<std::vector<Expr>(const Access&)>& supports)
        : program_(program), context_(*program.context), indices_(indices), supports_(supports) {}

    std::vector<Expr> find(Expr value) {
        ExprMap<Support> found;
        for (const Expr e : value_nodes(value)) found[e] = of(e, found);
        return kept(found.at(value).value_or(std::vector<Expr>{}));
    }

  private:
    Support of(Expr e, const ExprMap<Support>& found) const {
        if (is_literal(e, 0)) return std::nullopt;
        if (const auto* access = std::get_if<Access>(&e->term)) return supports_(*access);
        if (const auto* cast = std::get_if<Cast>(&e->term)) return found.at(cast->a);
        if (const auto* reduce = std::get_if<Reduce>(&e->term)) return of_sum(*reduce, found);
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr) return std::vector<Expr>{};
        const std::vector<Expr>& args = apply->args;
        if (apply->op == Op::neg || apply->op == Op::div) return found.at(args[0]);
        if (apply->op == Op::mul) return all(args, found);
        if (apply->op == Op::add) return any(args, found);
        if (apply->op != Op::select) return std::vector<Expr>{};
        if (is_literal(args[2], 0)) return within(conjuncts(args[0]), found.at(args[1]));
        return any({args[1], args[2]}, found);
    }

    Support of_sum(const Reduce& reduce, const ExprMap<Support>& found) const {
        if (reduce.reducer != Reducer::sum) return std::vector<Expr>{};
        Support both = within(conjuncts(reduce.condition), found.at(reduce.body));
        if (both) both = without(reduce.indices, std::move(*both));
        return both;
    }
    /// What the conditions say where an equation gives the index of a sum: `i == s && j == s+1`,
    /// summed over s, of i and j.
    [[nodiscard]] std::vector<Expr> without(const std::vector<IndexId>& summed,
                                            std::vector<Expr> conditions) const {
        for (const IndexId index : summed) {
            const auto solution = solve(index, conditions);
            if (!solution) continue;
            const Index& range = program_.at(index);
            conditions.push_back(context_.apply(Op::ge, {*solution, range.lower}));
            conditions.push_back(context_.apply(Op::lt, {*solution, range.upper}));
            for (Expr& each : conditions)
                each = substitute_indices(context_, each,
                                          {{static_cast<std::uint32_t>(index), *solution}});
        }
        std::vector<Expr> left;
        for (const Expr each : conditions) {
            const Expr simple = simplify(program_, each);
            if (!is_literal(simple) && !has(left, simple)) left.push_back(simple);
        }
        return left;
    }
    /// The index, from the first equation in which it has the coefficient 1 or -1.
    [[nodiscard]] std::optional<Expr> solve(IndexId index,
                                            const std::vector<Expr>& conditions) const {
        const Expr own = context_.index(index);
        for (const Expr condition : conditions) {
            if (!is_apply(condition, Op::eq) || !is_loop_bound(condition)) continue;
            const auto& sides = std::get<Apply>(condition->term).args;
            const Expr difference = integer_difference(context_, sides[0], sides[1]);
            const auto form = linear_form(difference);
            if (!form) continue;
            for (const LinearForm::Part& part : form->parts)
                if (part.atom == own && (part.coefficient == 1 || part.coefficient == -1))
                    return integer_difference(
                        context_, own, integer_scale(context_, difference, part.coefficient));
        }
        return std::nullopt;
    }

    /// Where both the conditions and the support hold.
    static Support within(std::vector<Expr> conditions, const Support& support) {
        if (!support) return std::nullopt;
        for (const Expr each : *support)
            if (!has(conditions, each)) conditions.push_back(each);
        return conditions;
    }
    /// Of a product.
    static Support all(const std::vector<Expr>& factors, const ExprMap<Support>& found) {
        Support both = std::vector<Expr>{};
        for (const Expr factor : factors) {
            both = within(*both, found.at(factor));
            if (!both) return std::nullopt;
        }
        return both;
    }
    /// Of a sum: what all terms ask for, and that one of them has all that it asks for.
    [[nodiscard]] Support any(const std::vector<Expr>& terms, const ExprMap<Support>& found) const {
        Support common;
        std::vector<std::vector<Expr>> each;
        for (const Expr term : terms) {
            const Support& own = found.at(term);
            if (!own) continue;
            each.push_back(kept(*own));
            if (!common) common = each.back();
            std::erase_if(*common, [&](Expr one) { return !has(each.back(), one); });
        }
        Expr one_of;
        for (const std::vector<Expr>& own : each) {
            Expr rest;
            for (const Expr condition : own)
                if (!has(*common, condition)) rest = context_.logical_and(rest, condition);
            if (!rest || each.size() > most_terms) return common;
            one_of = one_of ? context_.apply(Op::logical_or, {one_of, rest}) : rest;
        }
        if (one_of && each.size() > 1) common->push_back(one_of);
        return common;
    }
    /// Those that can be told from the derivative's own indices, wherever these are.
    [[nodiscard]] std::vector<Expr> kept(std::vector<Expr> conditions) const {
        std::erase_if(conditions, [&](Expr condition) {
            const std::vector<IndexId> free = free_indices(condition);
            return reads_at_data(condition) || std::ranges::any_of(free, [&](IndexId index) {
                       return !has_index(indices_, index);
                   });
        });
        return conditions;
    }

    static constexpr std::size_t most_terms = 8;  ///< whose conditions are worth testing

    const Program& program_;
    Context& context_;
    const std::vector<IndexId>& indices_;
    const std::function<std::vector<Expr>(const Access&)>& supports_;
};

}  // namespace

std::vector<Expr> support(const Program& program, const Gathered& derivative,
                          const std::function<std::vector<Expr>(const Access&)>& supports) {
    return Finder(program, derivative.indices, supports).find(derivative.value);
}

Expr without_known_guards(Context& context, Expr derivative, const std::vector<Expr>& conditions) {
    return rewrite(context, derivative, [&](Expr e) {
        if (!is_apply(e, Op::select)) return e;
        const std::vector<Expr>& args = std::get<Apply>(e->term).args;
        if (!is_literal(args[2], 0) || reads_at_data(e)) return e;
        Cotangent left{.guard = Expr(), .value = args[1]};
        for (const Expr part : conjuncts(args[0]))
            if (!has(conditions, part)) left = where(context, part, left);
        return to_expr(context, left);
    });
}

}  // namespace ricci::grad
