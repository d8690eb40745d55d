// grad/support.cpp – where a derivative can be other than 0
#include "grad/support.h"

#include <algorithm>
#include <optional>

#include "dsl/affine_form.h"
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
    Finder(const std::vector<IndexId>& indices,
           const std::function<std::vector<Expr>(const Access&)>& supports)
        : indices_(indices), supports_(supports) {}

    Support find(Expr value) {
        ExprMap<Support> found;
        for (const Expr e : value_nodes(value)) found[e] = of(e, found);
        return found.at(value);
    }

  private:
    Support of(Expr e, const ExprMap<Support>& found) const {
        if (is_literal(e, 0)) return std::nullopt;
        if (const auto* access = std::get_if<Access>(&e->term)) return kept(supports_(*access));
        if (const auto* cast = std::get_if<Cast>(&e->term)) return found.at(cast->a);
        if (const auto* reduce = std::get_if<Reduce>(&e->term))
            return reduce->reducer == Reducer::sum
                       ? within(reduce->condition, found.at(reduce->body))
                       : Support{std::vector<Expr>{}};
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr) return std::vector<Expr>{};
        const std::vector<Expr>& args = apply->args;
        if (apply->op == Op::neg || apply->op == Op::div) return found.at(args[0]);
        if (apply->op == Op::mul) return all(args, found);
        if (apply->op == Op::add) return any(args, found);
        if (apply->op != Op::select) return std::vector<Expr>{};
        if (is_literal(args[2], 0)) return within(args[0], found.at(args[1]));
        return any({args[1], args[2]}, found);
    }

    /// Where both the condition and the support hold.
    Support within(Expr condition, const Support& support) const {
        if (!support) return std::nullopt;
        std::vector<Expr> conditions = kept(conjuncts(condition));
        for (const Expr each : *support)
            if (!has(conditions, each)) conditions.push_back(each);
        return kept(conditions);
    }
    /// Of a product.
    static Support all(const std::vector<Expr>& factors, const ExprMap<Support>& found) {
        Support both = std::vector<Expr>{};
        for (const Expr factor : factors) {
            const Support& own = found.at(factor);
            if (!own) return std::nullopt;
            for (const Expr each : *own)
                if (!has(*both, each)) both->push_back(each);
        }
        return both;
    }
    /// Of a sum.
    static Support any(const std::vector<Expr>& terms, const ExprMap<Support>& found) {
        Support common;
        for (const Expr term : terms) {
            const Support& own = found.at(term);
            if (!own) continue;
            if (!common)
                common = own;
            else
                std::erase_if(*common, [&](Expr each) { return !has(*own, each); });
        }
        return common;
    }
    /// Those that can be told from the derivative's own indices, wherever these are. One of sizes
    /// alone excludes no point.
    [[nodiscard]] std::vector<Expr> kept(std::vector<Expr> conditions) const {
        std::erase_if(conditions, [&](Expr condition) {
            const std::vector<IndexId> free = free_indices(condition);
            const bool is_of_points = !free.empty() || !tensors_read(condition).empty();
            return !is_of_points || reads_at_data(condition) ||
                   std::ranges::any_of(free,
                                       [&](IndexId index) { return !has_index(indices_, index); });
        });
        return conditions;
    }

    const std::vector<IndexId>& indices_;
    const std::function<std::vector<Expr>(const Access&)>& supports_;
};

}  // namespace

std::vector<Expr> support(const Gathered& derivative,
                          const std::function<std::vector<Expr>(const Access&)>& supports) {
    return Finder(derivative.indices, supports)
        .find(derivative.value)
        .value_or(std::vector<Expr>{});
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
