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
                read(node, *access, tangent_of);
            else if (const auto* cast = std::get_if<Cast>(&node->term))
                convert(node, cast->a);
            else if (const auto* apply = std::get_if<Apply>(&node->term))
                push_through(node, *apply);
        }
        if (const auto unknown = unknown_.find(what_.term); unknown != unknown_.end())
            throw unknown->second;
        return of(what_.term);
    }

  private:
    Tangent of(Expr e) const {
        const auto found = tangents_.find(e);
        return found == tangents_.end() ? Tangent{} : found->second;
    }

    void read(Expr node, const Access& access,
              const std::function<Expr(const Access&)>& tangent_of) {
        try {
            tangents_.emplace(node, Tangent{.guard = Expr(), .value = tangent_of(access)});
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::gradient) throw;
            unknown_.emplace(node, error);
        }
    }

    void convert(Expr node, Expr operand) {
        Tangent tangent = of(operand);
        if (tangent.value) tangent.value = context_.cast(tangent.value, node->dtype);
        tangents_.emplace(node, tangent);
        pass_on_unknown(node, operand);
    }

    void push_through(Expr node, const Apply& apply) {
        if (dependence(apply.op) == Dependence::unknown) {
            unknown_.emplace(node, no_derivative(program_, apply, what_.span));
            return;
        }
        if (apply.op == Op::mul) require_short(program_, nodes_, apply, what_.span);
        if (apply.op == Op::select) {
            for (const std::size_t branch : {1U, 2U}) pass_on_unknown(node, apply.args[branch]);
            tangents_.emplace(node, of_choice(apply));
            return;
        }
        std::vector<Tangent> parts;
        for (std::size_t n = 0; n < apply.args.size(); ++n) {
            const Tangent operand = of(apply.args[n]);
            if (unknown_.contains(apply.args[n])) {
                const Tangent any{.guard = Expr(), .value = context_.literal(1.0)};
                if (through(node, apply, n, any).value) pass_on_unknown(node, apply.args[n]);
            } else if (operand.value) {
                const Tangent part = through(node, apply, n, operand);
                if (part.value) parts.push_back(part);
            }
        }
        if (!parts.empty()) tangents_.emplace(node, sum(context_, parts));
    }

    Tangent through(Expr node, const Apply& apply, std::size_t operand, const Tangent& d) {
        const Expr y = node == what_.term && what_.saved ? what_.saved : node;
        return grad::push_forward(context_,
                                  {.apply = apply,
                                   .y = y,
                                   .d = d,
                                   .is_complex = what_.is_complex,
                                   .is_norm = is_norm(program_, apply)},
                                  operand);
    }

    /// What changes with an operand whose tangent is unknown.
    void pass_on_unknown(Expr node, Expr operand) {
        const auto found = unknown_.find(operand);
        if (found != unknown_.end()) unknown_.emplace(node, found->second);
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
    ExprMap<Error> unknown_;  ///< terms whose tangents cannot be said: thrown if one is needed
};

}  // namespace

Tangent push_forward(const Program& program, const Differentiated& what, const Active& active,
                     const std::function<Expr(const Access&)>& tangent_of) {
    return Push(program, what, active).run(tangent_of);
}

}  // namespace ricci::grad
