// dsl/walk.cpp – traversals of terms: iterative, each shared node once
#include "dsl/walk.h"

#include <algorithm>
#include <unordered_set>

#include "base/match.h"

namespace ricci {
namespace {

/// The nodes reachable from the roots, not looking below those for which `stop` holds; operands
/// first (ids grow from operands to users).
template <class Stop>
std::vector<Expr> reachable(const std::vector<Expr>& roots, Stop stop) {
    std::unordered_set<const Node*> seen;
    std::vector<Expr> nodes;
    std::vector<Expr> stack;
    const auto visit = [&](Expr e) {
        if (e && seen.insert(&*e).second) stack.push_back(e);
    };
    for (Expr root : roots) visit(root);
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        nodes.push_back(e);
        if (stop(e)) continue;
        for (Expr operand : operands(e)) visit(operand);
    }
    std::sort(nodes.begin(), nodes.end(), [](Expr a, Expr b) { return a->id < b->id; });
    return nodes;
}

/// The node with its operands replaced through `done`.
Expr rebuild(Context& context, Expr e, const ExprMap<Expr>& done) {
    const auto now = [&](Expr operand) { return operand ? done.at(operand) : operand; };
    bool changed = false;
    for (Expr operand : operands(e)) changed |= now(operand) != operand;
    if (!changed) return e;
    const auto all = [&](std::vector<Expr> list) {
        for (Expr& item : list) item = now(item);
        return list;
    };
    return match(
        e->term, [&](const Literal&) { return e; }, [&](const IndexValue&) { return e; },
        [&](const Size&) { return e; },
        [&](const Access& t) { return context.access(t.tensor, all(t.at), e->dtype); },
        [&](const Apply& t) { return context.apply(t.op, all(t.args), e->dtype); },
        [&](const Reduce& t) {
            return context.reduce(t.reducer, t.indices, now(t.condition), now(t.body), e->dtype);
        },
        [&](const Cast& t) { return context.cast(now(t.a), e->dtype, t.wraps); },
        [&](const Modified& t) {
            return context.intern(
                Modified{t.outside, now(t.at), now(t.low), now(t.high), now(t.value)}, e->dtype);
        });
}

/// Calls `visit` on the distinct nodes in reading order, users before operands.
template <class Visit>
void preorder(Expr root, Visit visit) {
    std::unordered_set<const Node*> seen;
    std::vector<Expr> stack{root};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!e || !seen.insert(&*e).second) continue;
        visit(e);
        const std::vector<Expr> below = operands(e);
        stack.insert(stack.end(), below.rbegin(), below.rend());
    }
}

}  // namespace

std::vector<Expr> postorder(const std::vector<Expr>& roots) {
    return reachable(roots, [](Expr) { return false; });
}

std::vector<Expr> value_nodes(Expr root) {
    return reachable({root}, [](Expr e) { return std::holds_alternative<Access>(e->term); });
}

Expr rewrite(Context& context, Expr root, const std::function<Expr(Expr)>& step) {
    ExprMap<Expr> done;
    for (Expr e : postorder({root})) done.emplace(e, step(rebuild(context, e, done)));
    return done.at(root);
}

Expr substitute(Context& context, Expr root, const ExprMap<Expr>& replacement) {
    ExprMap<Expr> done;
    const auto replaced = [&](Expr e) { return replacement.contains(e); };
    for (Expr e : reachable({root}, replaced)) {
        const auto found = replacement.find(e);
        done.emplace(e, found != replacement.end() ? found->second : rebuild(context, e, done));
    }
    return done.at(root);
}

Expr substitute_indices(Context& context, Expr root,
                        const std::unordered_map<std::uint32_t, Expr>& replacement) {
    ExprMap<Expr> nodes;
    for (const auto& [index, value] : replacement)
        nodes.emplace(context.index(IndexId{index}), value);
    return substitute(context, root, nodes);
}

std::vector<IndexId> free_indices(Expr root) {
    std::vector<IndexId> found;
    std::unordered_set<std::uint32_t> bound;
    preorder(root, [&](Expr e) {
        if (const auto* value = std::get_if<IndexValue>(&e->term)) found.push_back(value->index);
        if (const auto* reduce = std::get_if<Reduce>(&e->term))
            for (IndexId i : reduce->indices) bound.insert(static_cast<std::uint32_t>(i));
    });
    std::erase_if(found, [&](IndexId i) { return bound.contains(static_cast<std::uint32_t>(i)); });
    return found;
}

std::vector<TensorId> tensors_read(Expr root) {
    std::vector<TensorId> found;
    preorder(root, [&](Expr e) {
        const auto* access = std::get_if<Access>(&e->term);
        if (access && std::find(found.begin(), found.end(), access->tensor) == found.end())
            found.push_back(access->tensor);
    });
    return found;
}

bool contains(Expr root, const std::function<bool(Expr)>& test) {
    const std::vector<Expr> nodes = postorder({root});
    return std::any_of(nodes.begin(), nodes.end(), test);
}

}  // namespace ricci
