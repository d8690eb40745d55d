// dsl/ast_walk.h – reading-order walk of a syntax tree without recursion
#pragma once

#include <vector>

#include "base/match.h"
#include "dsl/ast.h"

namespace ricci::ast {

/// The direct subexpressions in reading order.
[[nodiscard]] inline std::vector<ExprPtr> children(const Expr& e) {
    return match(
        e.node, [](const Number&) { return std::vector<ExprPtr>{}; },
        [](const Name&) { return std::vector<ExprPtr>{}; },
        [](const Unary& n) { return std::vector<ExprPtr>{n.a}; },
        [](const Binary& n) { return std::vector<ExprPtr>{n.a, n.b}; },
        [](const Conditional& n) { return std::vector<ExprPtr>{n.condition, n.yes, n.no}; },
        [](const Ellipsis&) { return std::vector<ExprPtr>{}; },
        [](const Access& n) { return n.at; },
        [](const Call& n) {
            std::vector<ExprPtr> list;
            for (const Argument& arg : n.args) list.push_back(arg.value);
            return list;
        },
        [](const Reduce& n) {
            std::vector<ExprPtr> list;
            for (const ReduceIndex& index : n.indices)
                if (index.range) {
                    list.push_back(index.range->lower);
                    list.push_back(index.range->upper);
                }
            if (n.condition) list.push_back(n.condition);
            list.push_back(n.body);
            return list;
        });
}

/// Calls `visit` on every node in reading order; descends where it returns true.
template <class Visit>
void walk(const ExprPtr& root, Visit visit) {
    std::vector<ExprPtr> stack{root};
    while (!stack.empty()) {
        const ExprPtr e = stack.back();
        stack.pop_back();
        if (!visit(*e)) continue;
        const std::vector<ExprPtr> below = children(*e);
        stack.insert(stack.end(), below.rbegin(), below.rend());
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
