// dsl/parse_expr.cpp – the grammar of expressions, by precedence climbing
#include "dsl/parse_expr.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/shape.h"
#include "base/text.h"
#include "dsl/ops.h"
#include "dsl/parser.h"

namespace ricci {
namespace {

using namespace ast;

/// The left-associative operators by how strongly they bind, weakest first.
struct Operator {
    std::string_view text;
    BinaryOp op;
    int level;
};
constexpr int weakest_level = 1;
constexpr int comparison_level = 3;
constexpr int sum_level = 4;
constexpr int strongest_level = 5;
constexpr Operator operators[] = {
    {"||", BinaryOp::logical_or, 1}, {"&&", BinaryOp::logical_and, 2}, {"==", BinaryOp::eq, 3},
    {"!=", BinaryOp::ne, 3},         {"<=", BinaryOp::le, 3},          {">=", BinaryOp::ge, 3},
    {"<", BinaryOp::lt, 3},          {">", BinaryOp::gt, 3},           {"+", BinaryOp::add, 4},
    {"-", BinaryOp::sub, 4},         {"*", BinaryOp::mul, 5},          {"/", BinaryOp::div, 5},
    {"//", BinaryOp::floordiv, 5},   {"%", BinaryOp::mod, 5},
};

const Operator* operator_at(const TokenStream& tokens, int level) {
    const auto* const found = std::ranges::find_if(operators, [&](const Operator& each) {
        return each.level == level && tokens.is(each.text);
    });
    return found == std::end(operators) ? nullptr : found;
}

template <class Node>
ExprPtr make(Node node, Span span) {
    return std::make_shared<Expr>(std::move(node), span);
}

}  // namespace

/// One level of nesting while it lives.
class ExprParser::Nesting {
  public:
    explicit Nesting(ExprParser& parser) : depth_(parser.nesting_) {
        const TokenStream& tokens = parser.tokens_;
        if (depth_ == max_nesting)
            tokens.fail(format("the expression is nested more than {} deep", max_nesting),
                        tokens.peek().span, "compute a part of it in a statement of its own",
                        ErrorKind::limit);
        ++depth_;
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

  private:
    std::uint32_t& depth_;
};

ExprPtr ExprParser::expression() {
    ExprPtr condition = binary(weakest_level);
    if (!tokens_.accept("?")) return condition;
    ExprPtr yes = nested();
    tokens_.expect(":", "write both branches, `condition ? a : b`");
    ExprPtr no = nested();
    const Span span = join(condition->span, no->span);
    return make(Conditional{std::move(condition), std::move(yes), std::move(no)}, span);
}

ExprPtr ExprParser::nested() {
    const Nesting level(*this);
    return expression();
}

Bound ExprParser::range() {
    const Nesting level(*this);
    ExprPtr lower = binary(sum_level);
    tokens_.expect(":", "a range is `i in 0:n`, with its end excluded");
    ExprPtr upper = binary(sum_level);
    return {std::move(lower), std::move(upper)};
}

ExprPtr ExprParser::subscript() {
    if (tokens_.is("..")) return make(Ellipsis{}, tokens_.take().span);
    return nested();
}

ExprPtr ExprParser::binary(int weakest) {
    if (weakest > strongest_level) return unary();
    ExprPtr left = binary(weakest + 1);
    while (const Operator* const found = operator_at(tokens_, weakest)) {
        const Token token = tokens_.take();
        ExprPtr right = binary(weakest + 1);
        const Span span = join(left->span, right->span);
        left = make(Binary{found->op, std::move(left), std::move(right), token.span}, span);
        if (weakest == comparison_level) reject_chain(*left);
    }
    return left;
}

/// `a < b < c` is refused: it would compare a truth value with c.
void ExprParser::reject_chain(const Expr& first) {
    const Operator* const second = operator_at(tokens_, comparison_level);
    if (second == nullptr) return;
    const Token token = tokens_.take();
    const ExprPtr last = binary(sum_level);
    const auto& comparison = std::get<Binary>(first.node);
    const auto written = [&](Span span, std::string_view otherwise) {
        constexpr std::size_t longest = 40;
        const auto text = tokens_.text(span);
        return text.size() > longest ? otherwise : text;
    };
    throw Error(
        {.kind = ErrorKind::syntax,
         .message = "comparisons do not chain",
         .source = tokens_.source(),
         .labels = {{token.span, ""}, {comparison.op_span, ""}},
         .hint = format("write `{} && {} {} {}`", written(first.span, "a < b"),
                        written(comparison.b->span, "b"), second->text, written(last->span, "c"))});
}

ExprPtr ExprParser::unary() {
    const bool is_unary = tokens_.is("-") || tokens_.is("!");
    if (!is_unary) return power();
    const Nesting level(*this);
    const Token token = tokens_.take();
    ExprPtr operand = unary();
    const Op op = token.text == "-" ? Op::neg : Op::logical_not;
    const Span span = join(token.span, operand->span);
    return make(Unary{op, std::move(operand)}, span);
}

ExprPtr ExprParser::power() {
    ExprPtr base = primary();
    if (!tokens_.is("^") && !tokens_.is("**")) return base;
    const Nesting level(*this);
    const Token token = tokens_.take();
    ExprPtr exponent = unary();
    const Span span = join(base->span, exponent->span);
    return make(Binary{BinaryOp::pow, std::move(base), std::move(exponent), token.span}, span);
}

ExprPtr ExprParser::primary() {
    if (tokens_.is("(")) return grouped();
    if (tokens_.is(TokenKind::name)) return named();
    if (tokens_.is(TokenKind::number)) {
        const Token token = tokens_.take();
        return make(Number{std::string(token.text)}, token.span);
    }
    const bool is_end = tokens_.is("end");
    if (!is_end && !tokens_.is(TokenKind::scalar_name)) expected_operand();
    const Token token = tokens_.take();
    const bool is_reserved = is_keyword(token.text) || is_constant_name(token.text) ||
                             reducer_from_name(token.text).has_value();
    if (!is_end && is_reserved)
        tokens_.fail(format("`{}` is reserved and cannot name a scalar", token.text), token.span,
                     format("choose another name, such as `${}_`", token.text), ErrorKind::name);
    return make(Name{std::string(token.text), !is_end}, token.span);
}

void ExprParser::expected_operand() const {
    std::string hint = "write a number, a name, `A[i]`, `f(x)` or `sum[k](x)`";
    if (tokens_.is("_")) hint = "`_` stands in targets only, as in `Y[_,j]` and `Y[i+_]`";
    if (tokens_.is("..")) hint = "`..` stands alone in its subscript, as in `A[..,k]`";
    if (tokens_.is(":")) hint = "write an index for each dimension, as in `A[i,j]`: no slices";
    if (tokens_.is("+")) hint = "delete the `+`";
    if (tokens_.is("=")) hint = "`==` compares, `:=` makes a new array";
    tokens_.expected("an expression", hint);
}

ExprPtr ExprParser::grouped() {
    const Token open = tokens_.take();
    const ExprPtr inside = nested();
    tokens_.expect_closing(open);
    Expr expr = *inside;
    expr.span = tokens_.span_from(open.span);
    expr.parenthesised = true;
    return std::make_shared<Expr>(std::move(expr));
}

ExprPtr ExprParser::named() {
    const Token name = tokens_.take();
    const bool is_subscripted = tokens_.is("[");
    const bool is_called = tokens_.is("(");
    if (const auto reducer = reducer_from_name(name.text)) {
        if (is_subscripted) return reduction(name);
        if (!is_called || find_function(name.text) == nullptr)
            tokens_.fail(format("the reducer `{}` lacks its indices", name.text), name.span,
                         format("write `{}[k](...)` to reduce over `k`", name.text));
    }
    if (is_constant_name(name.text) && (is_subscripted || is_called))
        tokens_.fail(format("`{}` is a constant and cannot name {}", name.text,
                            is_called ? "a function" : "an array"),
                     name.span, format("choose another name, such as `{}_`", name.text),
                     ErrorKind::name);
    if (is_subscripted) return access(name);
    if (is_called) return call(name);
    return make(Name{std::string(name.text)}, name.span);
}

ExprPtr ExprParser::access(const Token& name) {
    const Token open = tokens_.take();
    Access access{std::string(name.text), name.span, {}};
    if (!tokens_.is("]")) {
        do access.at.push_back(subscript());
        while (tokens_.accept(","));
    }
    tokens_.expect_closing(open);
    if (tokens_.is("(")) no_reducer(name);
    if (access.at.size() > max_rank)
        tokens_.fail(
            format("`{}` has {} subscripts, more than {}", access.name, access.at.size(), max_rank),
            name.span, "use fewer dimensions", ErrorKind::limit);
    return make(std::move(access), tokens_.span_from(name.span));
}

/// `name[…](…)` is how reductions are written.
void ExprParser::no_reducer(const Token& name) const {
    std::vector<std::string> names;
    for (std::size_t n = 0; n <= std::size_t(Reducer::norm); ++n)
        names.emplace_back(ricci::name(Reducer(n)));
    const std::string near = nearest(name.text, names);
    tokens_.fail(format("there is no reducer `{}`", name.text), name.span,
                 near.empty() ? format("the reducers are {}", join(names, ", "))
                              : format("did you mean `{}`?", near),
                 ErrorKind::name);
}

ExprPtr ExprParser::call(const Token& name) {
    const Token open = tokens_.take();
    Call call{std::string(name.text), name.span, {}};
    if (!tokens_.is(")")) {
        do call.args.push_back(argument());
        while (tokens_.accept(","));
    }
    tokens_.expect_closing(open);
    return make(std::move(call), tokens_.span_from(name.span));
}

Argument ExprParser::argument() {
    const bool has_keyword = tokens_.is(TokenKind::name) && tokens_.is("=", 1);
    if (!has_keyword) return {"", nested()};
    const std::string keyword(tokens_.take().text);
    tokens_.take();
    return {keyword, nested()};
}

ExprPtr ExprParser::reduction(const Token& name) {
    Reduce reduce{*reducer_from_name(name.text), name.span, {}, nullptr, nullptr};
    const Token open = tokens_.take();
    do reduce.indices.push_back(reduced_index());
    while (tokens_.accept(","));
    if (tokens_.accept("|")) reduce.condition = nested();
    tokens_.expect_closing(open);
    if (!tokens_.is("("))
        tokens_.expected(format("`(` after the indices of `{}`", name.text),
                         format("write `{}[{}](...)`, with what is reduced in parentheses",
                                name.text, reduce.indices.front().name));
    const Token body = tokens_.take();
    reduce.body = nested();
    tokens_.expect_closing(body);
    return make(std::move(reduce), tokens_.span_from(name.span));
}

ReduceIndex ExprParser::reduced_index() {
    const Token name = tokens_.expect_name("an index");
    ReduceIndex index{std::string(name.text), name.span, std::nullopt};
    if (tokens_.accept("in")) index.range = range();
    return index;
}

}  // namespace ricci
