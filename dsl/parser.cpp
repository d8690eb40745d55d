// dsl/parser.cpp – text to syntax tree: programs, statements, targets and their `where`
#include "dsl/parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/shape.h"
#include "base/text.h"
#include "dsl/parse_expr.h"

namespace ricci::ast {
namespace {

constexpr std::array assigns = {Assign::define, Assign::set, Assign::add, Assign::sub,
                                Assign::mul,    Assign::max, Assign::min};

class Parser {
  public:
    explicit Parser(const SourcePtr& source) : tokens_(source), expressions_(tokens_) {}

    Program program() {
        Program program{{}, tokens_.source()};
        skip_separators();
        while (!tokens_.is(TokenKind::end)) {
            if (program.items.size() == max_statements)
                tokens_.fail(format("the program has more than {} statements", max_statements),
                             tokens_.peek().span, "split the program", ErrorKind::limit);
            if (tokens_.is("def"))
                program.items.emplace_back(definition());
            else
                program.items.emplace_back(statement());
            end_of_statement();
            skip_separators();
        }
        const bool has_statement = std::ranges::any_of(program.items, [](const auto& item) {
            return std::holds_alternative<Statement>(item);
        });
        if (!has_statement) tokens_.expected("a statement", "write one, as in `Y[i] := 2*X[i]`");
        return program;
    }

  private:
    void skip_separators() {
        while (tokens_.is(TokenKind::separator)) tokens_.take();
    }

    void end_of_statement() const {
        if (tokens_.is(TokenKind::separator) || tokens_.is(TokenKind::end)) return;
        tokens_.expected("an operator or the end of the statement", tokens_.operator_hint());
    }

    Def definition() {
        const Token keyword = tokens_.take();
        const Token name = tokens_.expect_name("a function");
        Def def{std::string(name.text), name.span, {}, nullptr, {}};
        if (!tokens_.is("(")) tokens_.expected("`(`", format("write `def {}(x) = ...`", def.name));
        const Token open = tokens_.take();
        do def.parameters.push_back(parameter(def));
        while (tokens_.accept(","));
        tokens_.expect_closing(open);
        if (!tokens_.is("="))
            tokens_.expected("`=`", format("write `def {}({}) = ...`", def.name,
                                           ricci::join(def.parameters, ", ")));
        tokens_.take();
        def.value = expressions_.expression();
        def.span = tokens_.span_from(keyword.span);
        return def;
    }
    std::string parameter(const Def& def) {
        const Token name = tokens_.expect_name("a parameter");
        if (std::ranges::find(def.parameters, name.text) != def.parameters.end())
            tokens_.fail(format("`{}` has two parameters `{}`", def.name, name.text), name.span,
                         "give them different names", ErrorKind::name);
        return std::string(name.text);
    }

    Statement statement() {
        Statement statement{};
        statement.target = target();
        const Token op = assignment(statement.target);
        statement.op = assign_from_text(op.text);
        statement.op_span = op.span;
        statement.value = expressions_.expression();
        if (tokens_.accept("where")) {
            do statement.where.push_back(clause());
            while (tokens_.accept(","));
        }
        statement.span = tokens_.span_from(statement.target.span);
        return statement;
    }

    static Assign assign_from_text(std::string_view text) {
        return *std::ranges::find(assigns, text, [](Assign assign) { return name(assign); });
    }

    Target target() {
        if (tokens_.is("where"))
            tokens_.fail("`where` begins a line", tokens_.peek().span,
                         "write `where` at the end of the line before");
        const bool is_named = tokens_.is(TokenKind::name) || tokens_.is(TokenKind::keyword) ||
                              tokens_.is(TokenKind::scalar_name);
        if (!is_named)
            tokens_.expected("a statement", "begin it with its target, as in `Y[i] := ...`");
        const Token name = tokens_.expect_name("an array");
        Target target{std::string(name.text), name.span, {}, false, {}};
        if (tokens_.is("(")) reject_parentheses(name);
        if (tokens_.is("[")) slots(target);
        target.span = tokens_.span_from(name.span);
        return target;
    }

    void slots(Target& target) {
        const Token open = tokens_.take();
        target.bracketed = true;
        if (!tokens_.is("]")) {
            do target.slots.push_back(slot());
            while (tokens_.accept(","));
        }
        tokens_.expect_closing(open);
        if (target.slots.size() > max_rank)
            tokens_.fail(format("`{}` has {} subscripts, more than {}", target.name,
                                target.slots.size(), max_rank),
                         target.name_span, "use fewer dimensions", ErrorKind::limit);
    }
    Slot slot() {
        const Token first = tokens_.peek();
        const auto made = [&](Slot::Kind kind, ExprPtr expr) {
            return Slot{kind, std::move(expr), tokens_.span_from(first.span)};
        };
        if (tokens_.accept("_")) return made(Slot::Kind::unit, nullptr);
        if (tokens_.accept("..")) return made(Slot::Kind::ellipsis, nullptr);
        if (tokens_.is("+", 1) && tokens_.is("_", 2)) {
            const Token index = tokens_.expect_name("an index");
            tokens_.take();
            tokens_.take();
            return made(Slot::Kind::shifted,
                        std::make_shared<Expr>(Name{std::string(index.text)}, index.span));
        }
        ExprPtr expr = expressions_.subscript();
        return made(Slot::Kind::subscript, std::move(expr));
    }

    /// `Y(i,j) := …`: subscripts in parentheses, or a function where a target must be.
    [[noreturn]] void reject_parentheses(const Token& name) const {
        std::size_t ahead = 1;
        while (!tokens_.is(")", ahead) && !tokens_.is(TokenKind::end, ahead)) ++ahead;
        const Span inside{tokens_.peek().span.end, tokens_.peek(ahead).span.begin};
        tokens_.fail("a target's subscripts stand in `[ ]`, found `(`", tokens_.peek().span,
                     format("write `{}[{}] := ...`", name.text, tokens_.text(inside)));
    }

    Token assignment(const Target& target) {
        if (tokens_.is("=") && tokens_.is(">", 1))
            tokens_.fail("`=>` is not an operator", next_two(), define(target));
        if (tokens_.is(TokenKind::assign)) return tokens_.take();
        if (tokens_.is("=", 1)) reject_split_operator();
        tokens_.expected("an operator after the target",
                         tokens_.is("==")
                             ? define(target)
                             : format("begin with a target and one of {}", operator_list()));
    }
    /// `max =` and `: =` lack their second half, `/=` and the like do not exist.
    void reject_split_operator() const {
        const std::string joined = format("{}=", tokens_.peek().text);
        const auto is_operator = [&](Assign assign) { return name(assign) == joined; };
        if (std::ranges::any_of(assigns, is_operator))
            tokens_.fail(format("`{}` is one token, found a blank inside", joined), next_two(),
                         format("write `{}`", joined));
        if (tokens_.is(TokenKind::symbol))
            tokens_.fail(format("`{}` is not an operator", joined), next_two(),
                         format("use one of {}", operator_list()));
    }
    Span next_two() const { return join(tokens_.peek().span, tokens_.peek(1).span); }
    std::string define(const Target& target) const {
        return format("write `{} := ...`", tokens_.text(target.span));
    }
    static std::string operator_list() { return "`:=` `=` `+=` `-=` `*=` `max=` `min=`"; }

    std::variant<WhereRange, WhereLocal> clause() {
        const Token name = tokens_.expect_name("an index or a local scalar");
        if (tokens_.accept("in"))
            return WhereRange{std::string(name.text), name.span, expressions_.range()};
        if (!tokens_.is("="))
            tokens_.expected("`in` or `=`", format("write `where {0} in 0:n` for a range, `where "
                                                   "{0} = ...` for a local scalar",
                                                   name.text));
        tokens_.take();
        return WhereLocal{std::string(name.text), name.span, expressions_.expression()};
    }

    TokenStream tokens_;
    ExprParser expressions_;
};

}  // namespace

Program parse(const SourcePtr& source) { return Parser(source).program(); }

}  // namespace ricci::ast
