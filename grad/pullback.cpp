// grad/pullback.cpp – symbolic reverse mode over one term
#include "grad/pullback.h"

#include <algorithm>

#include "base/text.h"
#include "dsl/walk.h"

namespace ricci::grad {

namespace {

/// The nodes of a term that depend on active tensors, operands first.
class ActiveNodes {
  public:
    ActiveNodes(Expr term, const Active& active) {
        for (const Expr e : postorder({term})) {
            if (is_active(e, active)) {
                nodes_.push_back(e);
                members_.emplace(e, true);
            }
        }
    }

    [[nodiscard]] const std::vector<Expr>& in_order() const noexcept { return nodes_; }
    [[nodiscard]] bool contain(Expr e) const { return members_.contains(e); }

  private:
    [[nodiscard]] bool is_active(Expr e, const Active& active) const {
        if (const auto* access = std::get_if<Access>(&e->term)) {
            return position(access->tensor) < active.size() && active[position(access->tensor)];
        }
        // A whole number moves in jumps.
        if (const auto* cast = std::get_if<Cast>(&e->term))
            return (is_floating(e->dtype) || is_complex(e->dtype)) && contain(cast->a);
        if (const auto* reduce = std::get_if<Reduce>(&e->term)) {
            const bool is_smooth =
                reduce->reducer != Reducer::argmax && reduce->reducer != Reducer::argmin;
            return is_smooth && contain(reduce->body);
        }
        const auto* apply = std::get_if<Apply>(&e->term);
        if (apply == nullptr || dependence(apply->op) == Dependence::constant) return false;
        // The condition of a choice moves its value only in jumps.
        const std::size_t first = apply->op == Op::select ? 1 : 0;
        return std::any_of(apply->args.begin() + static_cast<std::ptrdiff_t>(first),
                           apply->args.end(), [&](Expr arg) { return contain(arg); });
    }

    std::vector<Expr> nodes_;
    ExprMap<bool> members_;
};

[[noreturn]] void no_derivative(const Program& program, const Apply& apply, Span span) {
    Diagnosis diagnosis{
        .kind = ErrorKind::gradient,
        .message =
            is_registered(apply.op)
                ? format("`{}` was registered without derivatives", info(apply.op).name)
                : format("the derivative of `{}` is not a function of the language",
                         info(apply.op).name),
        .source = program.source,
        .hint = "ask only for gradients of arguments that do not pass through it"};
    if (!span.is_empty()) diagnosis.labels.push_back({.span = span, .text = ""});
    throw Error(std::move(diagnosis));
}

/// Each factor's cotangent is a product of the others: of n factors, n^2 operands.
void require_short(const Program& program, const ActiveNodes& nodes, const Apply& product,
                   Span span) {
    constexpr std::size_t max_operands = 4'000'000;
    const auto active =
        static_cast<std::size_t>(std::count_if(product.args.begin(), product.args.end(),
                                               [&](Expr factor) { return nodes.contain(factor); }));
    if (active * product.args.size() <= max_operands) return;
    Diagnosis diagnosis{.kind = ErrorKind::limit,
                        .message = format("the gradient of a product of {} factors is too large",
                                          product.args.size()),
                        .source = program.source,
                        .labels = {},
                        .hint = "reduce over an index: `prod[k](A[k])`"};
    if (!span.is_empty()) diagnosis.labels.push_back({.span = span, .text = ""});
    throw Error(std::move(diagnosis));
}

/// Of `y = a/b`, where an array holds y: the cotangent of a's operands with `(d/b)*a` written as
/// `d*y`. So softmax's gradient reads its output and computes no exponential again.
Expr with_saved_quotient(Context& context, Expr cotangent, const Apply& quotient, Expr saved) {
    return rewrite(context, cotangent, [&](Expr e) {
        if (!is_apply(e, Op::mul)) return e;
        std::vector<Expr> factors = std::get<Apply>(e->term).args;
        const auto numerator = std::find(factors.begin(), factors.end(), quotient.args[0]);
        const auto share = std::find_if(factors.begin(), factors.end(), [&](Expr factor) {
            return is_apply(factor, Op::div) &&
                   std::get<Apply>(factor->term).args[1] == quotient.args[1];
        });
        if (numerator == factors.end() || share == factors.end()) return e;
        *numerator = saved;
        *share = std::get<Apply>((*share)->term).args[0];
        return context.apply(Op::mul, std::move(factors), e->dtype);
    });
}

}  // namespace

bool depends_on(Expr term, const Active& active) { return ActiveNodes(term, active).contain(term); }

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
        if (dependence(apply->op) == Dependence::unknown) no_derivative(program, *apply, what.span);
        if (apply->op == Op::mul) require_short(program, nodes, *apply, what.span);
        const Expr y = *node == what.term && what.saved ? what.saved : *node;
        for (std::size_t n = 0; n < apply->args.size(); ++n) {
            if (!nodes.contain(apply->args[n])) continue;
            Cotangent share = pull_back(
                context, {.apply = *apply, .y = y, .d = d, .is_complex = what.is_complex}, n);
            if (quotient != nullptr && *node == quotient->args[0] && share.value) {
                share.value = with_saved_quotient(context, share.value, *quotient, what.saved);
            }
            give(apply->args[n], share);
        }
    }
    std::reverse(reads.begin(), reads.end());
    return reads;
}

}  // namespace ricci::grad
