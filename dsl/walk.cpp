// dsl/walk.cpp – traversals of terms: iterative, each shared node once
#include "dsl/walk.h"

#include <algorithm>
#include <unordered_set>

#include "base/match.h"

namespace ricci {
namespace {

/// Nodes that were met, and what became of them: open addressing, as walks are what most of
/// checking a program is.
class NodeMap {
  public:
    /// Whether the node is new.
    bool insert(Expr e, Expr value = {}) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        Slot& place = slot(&*e);
        if (place.node != nullptr) return false;
        place = {&*e, value};
        ++count_;
        return true;
    }
    [[nodiscard]] Expr at(Expr e) const { return slots_[find(slots_, &*e)].value; }

  private:
    struct Slot {
        const Node* node = nullptr;
        Expr value = {};
    };
    static std::size_t find(const std::vector<Slot>& slots, const Node* node) {
        const std::size_t mask = slots.size() - 1;
        std::size_t n = node->hash & mask;
        while (slots[n].node != nullptr && slots[n].node != node) n = (n + 1) & mask;
        return n;
    }
    Slot& slot(const Node* node) { return slots_[find(slots_, node)]; }
    void grow() {
        const std::vector<Slot> before = std::move(slots_);
        slots_.assign(before.size() * 4, {});
        for (const Slot& each : before)
            if (each.node != nullptr) slot(each.node) = each;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(32);
    std::size_t count_ = 0;
};

/// Calls `visit` with each operand, in order.
template <class Visit>
void for_each_operand(Expr e, Visit visit) {
    const auto if_set = [&](Expr operand) {
        if (operand) visit(operand);
    };
    match(
        e->term, [](const Literal&) {}, [](const IndexValue&) {}, [](const Size&) {},
        [&](const Access& t) { std::ranges::for_each(t.at, visit); },
        [&](const Apply& t) { std::ranges::for_each(t.args, visit); },
        [&](const Reduce& t) {
            if_set(t.condition);
            visit(t.body);
        },
        [&](const Cast& t) { visit(t.a); },
        [&](const Modified& t) {
            for (Expr operand : {t.at, t.low, t.high, t.value}) if_set(operand);
        });
}

/// The nodes reachable from the roots, not looking below those for which `stop` holds; operands
/// first (ids grow from operands to users).
template <class Stop>
std::vector<Expr> reachable(const std::vector<Expr>& roots, Stop stop) {
    NodeMap seen;
    std::vector<Expr> nodes;
    const auto visit = [&](Expr e) {
        if (e && seen.insert(e)) nodes.push_back(e);
    };
    for (Expr root : roots) visit(root);
    // NOLINTNEXTLINE(modernize-loop-convert): the list grows
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const Expr e = nodes[n];
        if (!stop(e)) for_each_operand(e, visit);
    }
    std::ranges::sort(nodes, [](Expr a, Expr b) { return a->id < b->id; });
    return nodes;
}

/// The node with its operands replaced through `done`.
Expr rebuild(Context& context, Expr e, const NodeMap& done) {
    const auto now = [&](Expr operand) { return operand ? done.at(operand) : operand; };
    bool changed = false;
    for_each_operand(e, [&](Expr operand) { changed |= now(operand) != operand; });
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
    NodeMap seen;
    std::vector<Expr> stack{root};
    while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!e || !seen.insert(e)) continue;
        visit(e);
        const std::size_t first = stack.size();
        for_each_operand(e, [&](Expr operand) { stack.push_back(operand); });
        std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
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
    NodeMap done;
    for (Expr e : postorder({root})) done.insert(e, step(rebuild(context, e, done)));
    return done.at(root);
}

Expr substitute(Context& context, Expr root, const ExprMap<Expr>& replacement) {
    NodeMap done;
    const auto replaced = [&](Expr e) { return replacement.contains(e); };
    for (Expr e : reachable({root}, replaced)) {
        const auto found = replacement.find(e);
        done.insert(e, found != replacement.end() ? found->second : rebuild(context, e, done));
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

bool has_index(const std::vector<IndexId>& list, IndexId index) {
    return std::ranges::find(list, index) != list.end();
}

std::vector<TensorId> tensors_read(Expr root) {
    std::vector<TensorId> found;
    preorder(root, [&](Expr e) {
        const auto* access = std::get_if<Access>(&e->term);
        if (access && std::ranges::find(found, access->tensor) == found.end())
            found.push_back(access->tensor);
    });
    return found;
}

bool contains(Expr root, const std::function<bool(Expr)>& test) {
    const std::vector<Expr> nodes = postorder({root});
    return std::ranges::any_of(nodes, test);
}

}  // namespace ricci
