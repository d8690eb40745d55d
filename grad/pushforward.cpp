// grad/pushforward.cpp – symbolic forward mode over one term
#include "grad/pushforward.h"

#include <vector>

#include "dsl/walk.h"

namespace ricci::grad {

namespace {

class Push {
  public:
    Push(const Program& program, const Differentiated& what, const Active& active)
        : program_(program), context_(*program.context), what_(what), nodes_(what.term, active) {}

    Tangent run(const std::function<Expr(const Access&)>& tangent_of) {
        for (const Expr node : nodes_.in_order()) {
            if (const auto* access = std::get_if<Access>(&node->term))
                tangents_.emplace(node, Tangent{.guard = Expr(), .value = tangent_of(*access)});
            else if (const auto* cast = std::get_if<Cast>(&node->term))
                tangents_.emplace(node, converted(of(cast->a), node->dtype));
            else if (const auto* apply = std::get_if<Apply>(&node->term))
                tangents_.emplace(node, of_operation(node, *apply));
        }
        return of(what_.term);
    }

  private:
    Tangent of(Expr e) const {
        const auto found = tangents_.find(e);
        return found == tangents_.end() ? Tangent{} : found->second;
    }

    Tangent converted(Tangent tangent, DType dtype) {
        if (tangent.value) tangent.value = context_.cast(tangent.value, dtype);
        return tangent;
    }

    Tangent of_operation(Expr node, const Apply& apply) {
        require_derivative(program_, what_, nodes_, apply);
        if (apply.op == Op::select) return of_choice(apply);
        const Expr y = node == what_.term && what_.saved ? what_.saved : node;
        std::vector<Tangent> parts;
        for (std::size_t n = 0; n < apply.args.size(); ++n) {
            const Tangent operand = of(apply.args[n]);
            if (!operand.value) continue;
            const Tangent part = grad::push_forward(
                context_, {.apply = apply, .y = y, .d = operand, .is_complex = what_.is_complex},
                n);
            if (part.value) parts.push_back(part);
        }
        return parts.empty() ? Tangent{} : sum(context_, parts);
    }

    /// The tangent of the branch that is taken.
    Tangent of_choice(const Apply& apply) {
        const Tangent yes = of(apply.args[1]);
        const Tangent no = of(apply.args[2]);
        const Expr condition = apply.args[0];
        if (yes.value && no.value)
            return {.guard = Expr(),
                    .value = context_.apply(
                        Op::select, {condition, to_expr(context_, yes), to_expr(context_, no)})};
        const Expr holds = no.value ? context_.apply(Op::logical_not, {condition}) : condition;
        const Tangent& only = yes.value ? yes : no;
        if (!only.value) return {};
        return {.guard = context_.logical_and(holds, only.guard), .value = only.value};
    }

    const Program& program_;
    Context& context_;
    const Differentiated& what_;
    ActiveNodes nodes_;
    ExprMap<Tangent> tangents_;
};

}  // namespace

Tangent push_forward(const Program& program, const Differentiated& what, const Active& active,
                     const std::function<Expr(const Access&)>& tangent_of) {
    return Push(program, what, active).run(tangent_of);
}

}  // namespace ricci::grad
