// dsl/ast.h – the syntax tree: what was written, with a span on every node
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/source.h"
#include "dsl/ops.h"

namespace ricci::ast {

// The grammar is that of docs/language.md §1. Operators are kept as written: `a - b` is
// Binary{sub}; grouping parentheses are recorded (Expr::parenthesised) and make no node.
//
// Everything but the left operands of Binary is nested at most max_nesting (dsl/parser.h) deep.
// A chain of left-associative operators (`a + b - c`, `p && q && r`) leans to the left and may be
// as long as the source: walk its left spine with a loop, never by recursion.

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Number {
    std::string text;  ///< as written: `1`, `2.5`, `1e-5`, `1i`
};
/// A bare name: an index, a scalar, a where-local, or a constant (`inf nan pi true false end`).
struct Name {
    std::string name;
    bool dollar = false;  ///< written `$name`: a scalar argument
};
struct Unary {
    Op op;  ///< neg or logical_not
    ExprPtr a;
};
enum class BinaryOp : std::uint8_t {
    logical_or,
    logical_and,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    add,
    sub,
    mul,
    div,
    floordiv,
    mod,
    pow
};
struct Binary {
    BinaryOp op;
    ExprPtr a, b;
    Span op_span;
};
struct Conditional {
    ExprPtr condition, yes, no;
};
/// `..` in an access or a target: the run of dimensions not written out.
struct Ellipsis {};
/// `NAME[subs]`. A subscript is an expression or `..`.
struct Access {
    std::string name;
    Span name_span;
    std::vector<ExprPtr> at;  ///< an Ellipsis node stands for `..`
};
struct Argument {
    std::string keyword;  ///< `value` in `pad(e, value=v)`; empty when positional
    ExprPtr value;
};
struct Call {
    std::string name;
    Span name_span;
    std::vector<Argument> args;
};
struct Bound {
    ExprPtr lower, upper;
};
struct ReduceIndex {
    std::string name;
    Span span;
    std::optional<Bound> range;
};
struct Reduce {
    Reducer reducer;
    Span name_span;
    std::vector<ReduceIndex> indices;
    ExprPtr condition;  ///< may be null
    ExprPtr body;
};

struct Expr {
    std::variant<Number, Name, Unary, Binary, Conditional, Ellipsis, Access, Call, Reduce> node;
    Span span;
    bool parenthesised = false;

    /// Releases long chains of left operands one by one, not by recursion.
    ~Expr();
};

/// One dimension of a target.
struct Slot {
    enum class Kind : std::uint8_t {
        subscript,  ///< an expression
        unit,       ///< `_`
        shifted,    ///< `i+_`
        ellipsis,   ///< `..`
    };
    Kind kind = Kind::subscript;
    ExprPtr expr;  ///< subscript: the expression; shifted: the index
    Span span;
};
struct Target {
    std::string name;
    Span name_span;
    std::vector<Slot> slots;
    bool bracketed = false;  ///< `s[]` or `s[...]`, as opposed to `s`
    Span span;
};
struct WhereRange {
    std::string name;
    Span span;
    Bound range;
};
struct WhereLocal {
    std::string name;
    Span span;
    ExprPtr value;
};
struct Statement {
    Target target;
    Assign op;
    Span op_span;
    ExprPtr value;
    std::vector<std::variant<WhereRange, WhereLocal>> where;
    Span span;
};
struct Def {
    std::string name;
    Span name_span;
    std::vector<std::string> parameters;
    ExprPtr value;
    Span span;
};
struct Program {
    std::vector<std::variant<Def, Statement>> items;
    SourcePtr source;
};

/// An indented tree with spans, for `explain --stage ast` and golden tests.
[[nodiscard]] std::string str(const Program& program);

}  // namespace ricci::ast
