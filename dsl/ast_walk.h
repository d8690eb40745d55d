// dsl/ast_walk.h – reading-order walk of a syntax tree without recursion
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/match.h"
#include "dsl/ast.h"

namespace ricci::ast {

/// Calls `visit` with the direct subexpressions in reading order.
template <class Visit>
void for_each_child(const Expr& e, Visit visit) {
    match(
        e.node, [](const Number&) {}, [](const Name&) {}, [&](const Unary& n) { visit(n.a); },
        [&](const Binary& n) {
            visit(n.a);
            visit(n.b);
        },
        [&](const Conditional& n) {
            visit(n.condition);
            visit(n.yes);
            visit(n.no);
        },
        [](const Ellipsis&) {},
        [&](const Access& n) {
            for (const ExprPtr& subscript : n.at) visit(subscript);
        },
        [&](const Call& n) {
            for (const Argument& argument : n.args) visit(argument.value);
        },
        [&](const Reduce& n) {
            for (const ReduceIndex& index : n.indices)
                if (index.range) {
                    visit(index.range->lower);
                    visit(index.range->upper);
                }
            if (n.condition) visit(n.condition);
            visit(n.body);
        });
}
[[nodiscard]] inline std::vector<ExprPtr> children(const Expr& e) {
    std::vector<ExprPtr> list;
    for_each_child(e, [&](const ExprPtr& child) { list.push_back(child); });
    return list;
}

/// Calls `visit` on every node in reading order; descends where it returns true.
template <class Visit>
void walk(const ExprPtr& root, Visit visit) {
    std::vector<const Expr*> stack{root.get()};
    while (!stack.empty()) {
        const Expr& e = *stack.back();
        stack.pop_back();
        if (!visit(e)) continue;
        const auto first = static_cast<std::ptrdiff_t>(stack.size());
        for_each_child(e, [&](const ExprPtr& child) { stack.push_back(child.get()); });
        std::reverse(stack.begin() + first, stack.end());
    }
}

/// Calls `visit` on every expression of a statement, whole, in reading order.
template <class Visit>
void for_each_root(const Statement& statement, Visit visit) {
    for (const Slot& slot : statement.target.slots)
        if (slot.expr) visit(slot.expr);
    visit(statement.value);
    for (const auto& clause : statement.where)
        match(
            clause,
            [&](const WhereRange& range) {
                visit(range.range.lower);
                visit(range.range.upper);
            },
            [&](const WhereLocal& local) { visit(local.value); });
}

}  // namespace ricci::ast
