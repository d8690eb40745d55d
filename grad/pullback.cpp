// grad/pullback.cpp – symbolic reverse mode over one term
#include "grad/pullback.h"

#include <algorithm>

#include "base/text.h"
#include "dsl/walk.h"

namespace ricci::grad {

namespace {

/// Of `y = a/b`, where an array holds y: the cotangent of a's operands with `(d/b)*a` written as
/// `d*y`. So softmax's gradient reads its output and computes no exponential again.
Expr with_saved_quotient(Context& context, Expr cotangent, const Apply& quotient, Expr saved) {
    return rewrite(context, cotangent, [&](Expr e) {
        if (!is_apply(e, Op::mul)) return e;
        std::vector<Expr> factors = std::get<Apply>(e->term).args;
        const auto numerator = std::ranges::find(factors, quotient.args[0]);
        const auto share = std::ranges::find_if(factors, [&](Expr factor) {
            return is_apply(factor, Op::div) &&
                   std::get<Apply>(factor->term).args[1] == quotient.args[1];
        });
        if (numerator == factors.end() || share == factors.end()) return e;
        *numerator = saved;
        *share = std::get<Apply>((*share)->term).args[0];
        return context.apply(Op::mul, std::move(factors), e->dtype);
    });
}

/// Whether an array holds the node's value wherever its cotangent counts: it is the whole term, or
/// the one branch of `c ? x : 0`, used nowhere else, which is guarded where it is not taken.
bool is_saved(Expr node, const Differentiated& what, const ActiveNodes& nodes) {
    if (!what.saved || node == what.term) return bool(what.saved);
    if (!is_apply(what.term, Op::select)) return false;
    const std::vector<Expr>& args = std::get<Apply>(what.term->term).args;
    const bool is_branch =
        (node == args[1] && is_literal(args[2], 0)) || (node == args[2] && is_literal(args[1], 0));
    return is_branch && std::ranges::none_of(nodes.in_order(), [&](Expr each) {
               const std::vector<Expr> all = operands(each);
               return each != what.term && std::ranges::find(all, node) != all.end();
           });
}

}  // namespace

std::vector<ReadCotangent> pull_back(const Program& program, const Differentiated& what,
                                     const Cotangent& upstream, const Active& active) {
    Context& context = *program.context;
    const ActiveNodes nodes(what.term, active);
    ExprMap<std::vector<Cotangent>> uses{{what.term, {upstream}}};
    std::vector<ReadCotangent> reads;
    const Apply* quotient =
        is_apply(what.term, Op::div) && what.saved ? std::get_if<Apply>(&what.term->term) : nullptr;
    for (auto node = nodes.in_order().rbegin(); node != nodes.in_order().rend(); ++node) {
        const auto found = uses.find(*node);
        if (found == uses.end()) continue;
        const Cotangent d = sum(context, found->second);
        uses.erase(found);
        if (std::holds_alternative<Access>((*node)->term)) reads.push_back({*node, d});
        const auto give = [&](Expr operand, const Cotangent& share) {
            if (nodes.contain(operand) && share.value) uses[operand].push_back(share);
        };
        if (const auto* cast = std::get_if<Cast>(&(*node)->term)) give(cast->a, d);
        const auto* apply = std::get_if<Apply>(&(*node)->term);
        if (apply == nullptr) continue;
        if (dependence(apply->op) == Dependence::unknown)
            throw no_derivative(program, *apply, what.span);
        if (apply->op == Op::mul) require_short(program, nodes, *apply, what.span);
        const Expr y = is_saved(*node, what, nodes) ? what.saved : *node;
        for (std::size_t n = 0; n < apply->args.size(); ++n) {
            if (!nodes.contain(apply->args[n])) continue;
            Cotangent share = pull_back(context,
                                        {.apply = *apply,
                                         .y = y,
                                         .d = d,
                                         .is_complex = what.is_complex,
                                         .is_norm = is_norm(program, *apply)},
                                        n);
            if (quotient != nullptr && *node == quotient->args[0] && share.value) {
                share.value = with_saved_quotient(context, share.value, *quotient, what.saved);
            }
            give(apply->args[n], share);
        }
    }
    std::ranges::reverse(reads);
    return reads;
}

}  // namespace ricci::grad
