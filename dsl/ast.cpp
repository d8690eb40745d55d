// dsl/ast.cpp – release and printing of syntax trees
#include "dsl/ast.h"

#include <ranges>
#include <utility>

#include "base/match.h"
#include "base/text.h"

namespace ricci::ast {
namespace {

/// The left operand of a binary operation, taken out of it; empty for other nodes.
ExprPtr take_left(Expr& expr) {
    auto* const binary = std::get_if<Binary>(&expr.node);
    return binary == nullptr ? nullptr : std::move(binary->a);
}

std::string_view name(BinaryOp op) {
    switch (op) {
        case BinaryOp::logical_or:  return "||";
        case BinaryOp::logical_and: return "&&";
        case BinaryOp::eq:          return "==";
        case BinaryOp::ne:          return "!=";
        case BinaryOp::lt:          return "<";
        case BinaryOp::le:          return "<=";
        case BinaryOp::gt:          return ">";
        case BinaryOp::ge:          return ">=";
        case BinaryOp::add:         return "+";
        case BinaryOp::sub:         return "-";
        case BinaryOp::mul:         return "*";
        case BinaryOp::div:         return "/";
        case BinaryOp::floordiv:    return "//";
        case BinaryOp::mod:         return "%";
        case BinaryOp::pow:         return "^";
    }
    return "?";
}

/// Operators of one class form chains. A power is no chain: its left operand is a primary.
int chain_class(BinaryOp op) {
    if (op == BinaryOp::logical_or || op == BinaryOp::logical_and || op == BinaryOp::pow)
        return int(op);
    if (op <= BinaryOp::ge) return int(BinaryOp::eq);
    return int(op <= BinaryOp::sub ? BinaryOp::add : BinaryOp::mul);
}

/// Lines of a tree: what a node is, its place, and its children two columns further in.
class TreePrinter {
  public:
    std::string program(const Program& program) {
        for (const auto& item : program.items)
            match(
                item, [&](const Def& each) { def(each); },
                [&](const Statement& each) { statement(each); });
        return std::move(text_);
    }

  private:
    void line(std::string_view what, Span span) {
        text_ += format("{:{}}{} @{}:{}\n", "", 2 * depth_, what, span.begin, span.end);
    }
    template <class Children>
    void node(std::string_view what, Span span, Children&& children) {
        line(what, span);
        ++depth_;
        children();
        --depth_;
    }

    void def(const Def& def) {
        node(format("def {}({})", def.name, ricci::join(def.parameters, ", ")), def.span,
             [&] { expr(def.value); });
    }
    void statement(const Statement& statement) {
        node(format("statement {}", ricci::name(statement.op)), statement.span, [&] {
            const Target& to = statement.target;
            node(format("target {}{}", to.name, to.bracketed ? "[]" : ""), to.span, [&] {
                for (const Slot& each : to.slots) slot(each);
            });
            expr(statement.value);
            for (const auto& each : statement.where) clause(each);
        });
    }
    void slot(const Slot& slot) {
        switch (slot.kind) {
            case Slot::Kind::subscript: return expr(slot.expr);
            case Slot::Kind::unit:      return line("unit _", slot.span);
            case Slot::Kind::ellipsis:  return line("ellipsis ..", slot.span);
            case Slot::Kind::shifted:   return node("shifted", slot.span, [&] { expr(slot.expr); });
        }
    }
    void clause(const std::variant<WhereRange, WhereLocal>& clause) {
        match(
            clause,
            [&](const WhereRange& each) {
                node(format("range {}", each.name), each.span, [&] { bound(each.range); });
            },
            [&](const WhereLocal& each) {
                node(format("local {}", each.name), each.span, [&] { expr(each.value); });
            });
    }
    void bound(const Bound& bound) {
        expr(bound.lower);
        expr(bound.upper);
    }

    void expr(const ExprPtr& expr) { this->expr(*expr, ""); }
    /// `role` is written before the node: an operator of a chain.
    void expr(const Expr& expr, std::string_view role) {
        const std::string group = expr.parenthesised ? " ()" : "";
        const auto head = [&](std::string_view what) {
            return format("{}{}{}", role, what, group);
        };
        match(
            expr.node, [&](const Number& each) { line(head("number " + each.text), expr.span); },
            [&](const Name& each) {
                line(head(format("name {}{}", each.dollar ? "$" : "", each.name)), expr.span);
            },
            [&](const Unary& each) {
                node(head(format("unary {}", info(each.op).name)), expr.span,
                     [&] { this->expr(each.a); });
            },
            [&](const Binary&) { node(head("binary"), expr.span, [&] { chain(expr); }); },
            [&](const Conditional& each) {
                node(head("conditional"), expr.span, [&] {
                    this->expr(each.condition);
                    this->expr(each.yes);
                    this->expr(each.no);
                });
            },
            [&](const Ellipsis&) { line(head("ellipsis .."), expr.span); },
            [&](const Access& each) {
                node(head("access " + each.name), expr.span, [&] {
                    for (const ExprPtr& at : each.at) this->expr(at);
                });
            },
            [&](const Call& each) {
                node(head("call " + each.name), expr.span, [&] {
                    for (const Argument& arg : each.args)
                        this->expr(*arg.value, arg.keyword.empty() ? "" : arg.keyword + "= ");
                });
            },
            [&](const Reduce& each) {
                node(head(format("reduce {}", ricci::name(each.reducer))), expr.span,
                     [&] { reduce(each); });
            });
    }
    /// A chain of left-associative operators is listed flat, each operand after its operator.
    void chain(const Expr& last) {
        std::vector<const Binary*> links;
        const Expr* first = &last;
        for (const auto* link = std::get_if<Binary>(&last.node); link != nullptr;) {
            links.push_back(link);
            first = link->a.get();
            const auto* const next = std::get_if<Binary>(&first->node);
            const bool goes_on = next != nullptr && !first->parenthesised &&
                                 chain_class(next->op) == chain_class(link->op);
            link = goes_on ? next : nullptr;
        }
        expr(*first, "");
        for (const Binary* each : links | std::views::reverse)
            expr(*each->b, format("{} ", name(each->op)));
    }
    void reduce(const Reduce& reduce) {
        for (const ReduceIndex& each : reduce.indices)
            node("index " + each.name, each.span, [&] {
                if (each.range) bound(*each.range);
            });
        if (reduce.condition) expr(*reduce.condition, "| ");
        expr(reduce.body);
    }

    std::string text_;
    int depth_ = 0;
};

}  // namespace

Expr::~Expr() {
    ExprPtr left = take_left(*this);
    while (left && left.use_count() == 1) {
        // The last owner may take the node apart before releasing it.
        ExprPtr next = take_left(const_cast<Expr&>(*left));
        left = std::move(next);
    }
}

std::string str(const Program& program) { return TreePrinter().program(program); }

}  // namespace ricci::ast
