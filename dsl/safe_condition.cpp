// dsl/safe_condition.cpp – conditions that may be evaluated where parts of them do not hold
#include "dsl/safe_condition.h"

#include <algorithm>

#include "dsl/affine_form.h"
#include "dsl/prove.h"
#include "dsl/walk.h"

namespace ricci {
namespace {

class Safe {
  public:
    Safe(const BoundProgram& program, const std::vector<IndexId>& domain, Expr condition)
        : program_(program), context_(*program.context), domain_(domain) {
        for (Expr conjunct : conjuncts(condition)) {
            if (!tensors_read(conjunct).empty()) continue;
            plain_ = plain_ ? both(plain_, conjunct) : conjunct;
        }
    }

    Expr operator()(Expr condition) {
        if (!plain_) return condition;
        return rewrite(context_, condition, [&](Expr e) {
            const auto* access = std::get_if<Access>(&e->term);
            return access ? read(e, *access) : e;
        });
    }

  private:
    Expr both(Expr a, Expr b) { return context_.apply(Op::logical_and, {a, b}, DType::boolean); }

    Expr read(Expr e, const Access& access) {
        const Shape& shape = program_.at(access.tensor).shape;
        std::vector<Expr> at = access.at;
        for (std::size_t d = 0; d < at.size(); ++d) {
            // Data is inside already: checked, or brought there.
            if (!tensors_read(at[d]).empty()) continue;
            if (prove_in_bounds(program_.indices, domain_, Expr(), at[d], shape[d]).in_bounds)
                continue;
            const Expr first = context_.literal(std::int64_t{0}, DType::i64);
            at[d] = context_.apply(Op::select, {plain_, at[d], first}, DType::i64);
        }
        if (at == access.at) return e;
        const bool has_no_element = std::ranges::find(shape, 0) != shape.end();
        if (has_no_element) return context_.cast(context_.literal(false, DType::boolean), e->dtype);
        return context_.access(access.tensor, std::move(at), e->dtype);
    }

    const BoundProgram& program_;
    Context& context_;
    const std::vector<IndexId>& domain_;
    Expr plain_;  ///< the conjuncts that read nothing; empty: none
};

}  // namespace

Expr safe_condition(const BoundProgram& program, const std::vector<IndexId>& domain,
                    Expr condition) {
    return condition ? Safe(program, domain, condition)(condition) : condition;
}

}  // namespace ricci
