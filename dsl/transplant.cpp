// dsl/transplant.cpp – terms of one context built again in another
#include "dsl/transplant.h"

#include "base/match.h"

namespace ricci {

Expr Transplant::operator()(Expr root) {
    if (!root) return root;
    for (Expr e : postorder({root}))
        if (!done_.contains(e)) done_.emplace(e, rebuilt(e));
    return done_.at(root);
}

Expr Transplant::rebuilt(Expr e) {
    const auto all = [&](std::vector<Expr> list) {
        for (Expr& item : list) item = done_.at(item);
        return list;
    };
    Term term = match(
        e->term, [](const Literal& t) -> Term { return t; },
        [&](const IndexValue& t) -> Term { return IndexValue{indices_(t.index)}; },
        [&](const Size& t) -> Term { return Size{tensors_(t.tensor), t.dimension}; },
        [&](const Access& t) -> Term { return Access{tensors_(t.tensor), all(t.at)}; },
        [&](const Apply& t) -> Term { return Apply{t.op, all(t.args)}; },
        [&](const Reduce& t) -> Term {
            Reduce reduce{t.reducer, t.indices, t.condition ? done_.at(t.condition) : Expr(),
                          done_.at(t.body)};
            for (IndexId& index : reduce.indices) index = indices_(index);
            return reduce;
        },
        [&](const Cast& t) -> Term { return Cast{done_.at(t.a), t.wraps}; },
        [&](const Modified& t) -> Term {
            const auto moved = [&](Expr part) { return part ? done_.at(part) : part; };
            return Modified{t.outside, moved(t.at), moved(t.low), moved(t.high), moved(t.value)};
        });
    return to_.intern(std::move(term), e->dtype);
}

Program in_own_context(const Program& program) {
    Program copy = program;
    copy.context = std::make_shared<Context>();
    Transplant transplant(
        *copy.context, [](TensorId id) { return id; }, [](IndexId id) { return id; });
    const auto move = [&](Expr& e) { e = transplant(e); };
    for (Tensor& tensor : copy.tensors)
        for (Expr& extent : tensor.shape) move(extent);
    for (Index& index : copy.indices) {
        move(index.lower);
        move(index.upper);
    }
    for (Equation& equation : copy.equations) {
        for (Expr& e : equation.at) move(e);
        move(equation.value);
    }
    for (Requirement& requirement : copy.requirements) {
        move(requirement.a);
        move(requirement.b);
        move(requirement.condition);
        move(requirement.term);
    }
    return copy;
}

}  // namespace ricci
