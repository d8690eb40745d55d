// grad/active.cpp – which terms change with the tensors that derivatives are wanted for
#include "grad/active.h"

#include <algorithm>

#include "base/text.h"
#include "grad/rules.h"

namespace ricci::grad {

ActiveNodes::ActiveNodes(Expr term, const Active& active) {
    for (const Expr e : postorder({term})) {
        if (is_active(e, active)) {
            nodes_.push_back(e);
            members_.emplace(e, true);
        }
    }
}

bool ActiveNodes::is_active(Expr e, const Active& active) const {
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
    return std::any_of(apply->args.begin() + static_cast<std::ptrdiff_t>(first), apply->args.end(),
                       [&](Expr arg) { return contain(arg); });
}

bool depends_on(Expr term, const Active& active) { return ActiveNodes(term, active).contain(term); }

Error no_derivative(const Program& program, const Apply& apply, Span span) {
    Diagnosis diagnosis{
        .kind = ErrorKind::gradient,
        .message = is_registered(apply.op)
                       ? format("`{}` was registered without derivatives", info(apply.op).name)
                       : format("the derivative of `{}` is not a function of the language",
                                info(apply.op).name),
        .source = program.source,
        .hint = "ask only for gradients of arguments that do not pass through it"};
    if (!span.is_empty()) diagnosis.labels.push_back({.span = span, .text = ""});
    return Error(std::move(diagnosis));
}

// Each factor's derivative is a product of the others: of n factors, n^2 operands.
void require_short(const Program& program, const ActiveNodes& nodes, const Apply& product,
                   Span span) {
    constexpr std::size_t max_operands = 4'000'000;
    const auto active = static_cast<std::size_t>(
        std::ranges::count_if(product.args, [&](Expr factor) { return nodes.contain(factor); }));
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

}  // namespace ricci::grad
