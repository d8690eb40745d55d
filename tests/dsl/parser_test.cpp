// tests/dsl/parser_test.cpp – the grammar, and what is said of texts that it does not have
#include "dsl/parser.h"

#include <string>

#include <doctest/doctest.h>

#include "dsl/lexer.h"
#include "tests/support/error_text.h"
#include "tests/support/golden.h"

using namespace ricci;
using tests::check_golden;
using tests::error_text;

namespace {

std::string tree(const std::string& text) { return str(ast::parse(make_source(text))); }

std::string error_of(const std::string& text) {
    return error_text([&] { (void)tree(text); });
}

std::string repeated(std::size_t times, const std::string& text) {
    std::string all;
    for (std::size_t n = 0; n < times; ++n) all += text;
    return all;
}

/// The tree of `y := text` without places: an operation as `(a op b)`.
std::string grouping(const ast::Expr& e) {
    const auto* const binary = std::get_if<ast::Binary>(&e.node);
    const auto* const unary = std::get_if<ast::Unary>(&e.node);
    const auto* const choice = std::get_if<ast::Conditional>(&e.node);
    const auto* const number = std::get_if<ast::Number>(&e.node);
    if (binary != nullptr) {
        static constexpr const char* texts[] = {
            "||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%", "^"};
        return "(" + grouping(*binary->a) + texts[int(binary->op)] + grouping(*binary->b) + ")";
    }
    if (unary != nullptr)
        return "(" + std::string(info(unary->op).name) + grouping(*unary->a) + ")";
    if (choice != nullptr)
        return "(" + grouping(*choice->condition) + "?" + grouping(*choice->yes) + ":" +
               grouping(*choice->no) + ")";
    return number != nullptr ? number->text : std::get<ast::Name>(e.node).name;
}
std::string grouped(const std::string& text) {
    const ast::Program program = ast::parse(make_source("y := " + text));
    return grouping(*std::get<ast::Statement>(program.items.front()).value);
}

}  // namespace

TEST_CASE("operators bind by their precedence") {
    CHECK(grouped("a + b*c - d") == "((a+(b*c))-d)");
    CHECK(grouped("a || b && c == d + e") == "(a||(b&&(c==(d+e))))");
    CHECK(grouped("a // b % c / d * e") == "((((a//b)%c)/d)*e)");
    CHECK(grouped("(a + b)*c") == "((a+b)*c)");
    CHECK(grouped("!a == b") == "((!a)==b)");
    CHECK(grouped("-a * b") == "((-a)*b)");
    CHECK(grouped("a * -b - -c") == "((a*(-b))-(-c))");
}

TEST_CASE("powers are right-associative and bind tighter than the minus before them") {
    CHECK(grouped("-x^2") == "(-(x^2))");
    CHECK(grouped("2^-1") == "(2^(-1))");
    CHECK(grouped("a^b^c") == "(a^(b^c))");
    CHECK(grouped("a ** b ** c") == "(a^(b^c))");
    CHECK(grouped("2^-a^b") == "(2^(-(a^b)))");
    CHECK(grouped("a*b^c") == "(a*(b^c))");
}

TEST_CASE("a conditional takes everything and is right-associative") {
    CHECK(grouped("a ? b : c ? d : e") == "(a?b:(c?d:e))");
    CHECK(grouped("a < b ? c ? d : e : f + 1") == "((a<b)?(c?d:e):(f+1))");
}

TEST_CASE("a linear layer has this tree") {
    check_golden("ast/linear", tree("Y[n,o] := W[o,k] * X[n,k] + b[o]"));
}

TEST_CASE("every kind of node is printed") {
    check_golden("ast/every_node", tree("def f(x, y) = x*y # a pure function\n"
                                        "Y[i+_,_,..,2*i] += -(a - b) + (A[$c,end,..]\n"
                                        "  ? f(x, value=1e-5) : !2i) where\n"
                                        "  i in 0:size(A,-1)-1, u = $s\n"
                                        "s max= sum[j in 0:3, k | j <= k && k < 7](B[j,k])"));
}

TEST_CASE("long chains are listed flat and released without recursion") {
    const std::string text = tree("y := a" + repeated(100'000, " + b*c - d"));
    CHECK(text.starts_with("statement := @0:1000006\n"));
}

TEST_CASE("a scalar target may have empty brackets") {
    const ast::Program program = ast::parse(make_source("s[] := 1; t := 2; u := s[] + t"));
    CHECK(program.items.size() == 3);
    CHECK(std::get<ast::Statement>(program.items[0]).target.bracketed);
    CHECK_FALSE(std::get<ast::Statement>(program.items[1]).target.bracketed);
}

TEST_CASE("function names stay free for arrays") {
    CHECK_NOTHROW(tree("gamma[c] := exp[c] + size[c] + pad[c] + clamp[c]"));
}

TEST_CASE("a missing bracket is shown with the one it should close") {
    CHECK(error_of("A[i,j := B[i]") ==
          "syntax: expected `]`, found `:=`\n"
          "  | A[i,j := B[i]\n"
          "  |  ~    ^^\n"
          "  |  opened here\n"
          "  = hint: close it with `]`");
    CHECK(error_of("Y := (a + b]") ==
          "syntax: expected `)`, found `]`\n"
          "  | Y := (a + b]\n"
          "  |      ~     ^\n"
          "  |      opened here\n"
          "  = hint: close it with `)`");
    CHECK(error_of("Y[i] := A[i") ==
          "syntax: expected `]`, found the end of the program\n"
          "  | Y[i] := A[i\n"
          "  |          ~ ^\n"
          "  |          opened here\n"
          "  = hint: close it with `]`");
}

TEST_CASE("a target's subscripts stand in brackets") {
    CHECK(error_of("A(i,j) := B[i]") ==
          "syntax: a target's subscripts stand in `[ ]`, found `(`\n"
          "  | A(i,j) := B[i]\n"
          "  |  ^\n"
          "  = hint: write `A[i,j] := ...`");
}

TEST_CASE("operators that are nearly right are answered with the right one") {
    CHECK(error_of("Y[i] == A[i]") ==
          "syntax: expected an operator after the target, found `==`\n"
          "  | Y[i] == A[i]\n"
          "  |      ^^\n"
          "  = hint: write `Y[i] := ...`");
    CHECK(error_of("Y[i] => A[i]") ==
          "syntax: `=>` is not an operator\n"
          "  | Y[i] => A[i]\n"
          "  |      ^^\n"
          "  = hint: write `Y[i] := ...`");
    CHECK(error_of("Y[i] max = A[i]") ==
          "syntax: `max=` is one token, found a blank inside\n"
          "  | Y[i] max = A[i]\n"
          "  |      ^^^^^\n"
          "  = hint: write `max=`");
    CHECK(error_of("Y[i] /= A[i]") ==
          "syntax: `/=` is not an operator\n"
          "  | Y[i] /= A[i]\n"
          "  |      ^^\n"
          "  = hint: use one of `:=` `=` `+=` `-=` `*=` `max=` `min=`");
    CHECK(error_of("Y := sum[k | k => 2](A[k])") ==
          "syntax: expected `]`, found `=`\n"
          "  | Y := sum[k | k => 2](A[k])\n"
          "  |         ~      ^\n"
          "  |         opened here\n"
          "  = hint: write `>=` to compare");
}

TEST_CASE("an expression alone is no statement") {
    CHECK(error_of("A[i]*B[i]") ==
          "syntax: expected an operator after the target, found `*`\n"
          "  | A[i]*B[i]\n"
          "  |     ^\n"
          "  = hint: begin with a target and one of `:=` `=` `+=` `-=` `*=` `max=` `min=`");
    CHECK(error_of("2*x") ==
          "syntax: expected a statement, found `2`\n"
          "  | 2*x\n"
          "  | ^\n"
          "  = hint: begin it with its target, as in `Y[i] := ...`");
    CHECK(error_of("# nothing")
              .starts_with("syntax: expected a statement, found the end of the program\n"));
    CHECK(error_of("def f(x) = x")
              .starts_with("syntax: expected a statement, found the end of the program\n"));
}

TEST_CASE("comparisons do not chain") {
    CHECK(error_of("Y[i] := 0 <= x[i] < 1 ? 1 : 0") ==
          "syntax: comparisons do not chain\n"
          "  | Y[i] := 0 <= x[i] < 1 ? 1 : 0\n"
          "  |           ~~      ^\n"
          "  = hint: write `0 <= x[i] && x[i] < 1`");
}

TEST_CASE("a missing operand or operator is named") {
    CHECK(error_of("Y[i] :=") ==
          "syntax: expected an expression, found the end of the program\n"
          "  | Y[i] :=\n"
          "  |        ^\n"
          "  = hint: write a number, a name, `A[i]`, `f(x)` or `sum[k](x)`");
    CHECK(error_of("Y[i] := 2 A[i]") ==
          "syntax: expected an operator or the end of the statement, found `A`\n"
          "  | Y[i] := 2 A[i]\n"
          "  |           ^\n"
          "  = hint: write `*` between the factors of a product, `,` between subscripts or "
          "arguments");
    CHECK(error_of("Y[i] := A[i] i in 0:3") ==
          "syntax: expected an operator or the end of the statement, found `i`\n"
          "  | Y[i] := A[i] i in 0:3\n"
          "  |              ^\n"
          "  = hint: write `where` before the ranges of a statement");
    CHECK(error_of("Y[i] := A[:,i]") ==
          "syntax: expected an expression, found `:`\n"
          "  | Y[i] := A[:,i]\n"
          "  |           ^\n"
          "  = hint: write an index for each dimension, as in `A[i,j]`: no slices");
}

TEST_CASE("`where` stands at the end of the line before") {
    CHECK(error_of("Y[i] := A[i]\nwhere i in 0:3") ==
          "syntax: `where` begins a line\n"
          "2 | where i in 0:3\n"
          "  | ^^^^^\n"
          "  = hint: write `where` at the end of the line before");
    CHECK(error_of("Y[i] := A[i] where i") ==
          "syntax: expected `in` or `=`, found the end of the program\n"
          "  | Y[i] := A[i] where i\n"
          "  |                     ^\n"
          "  = hint: write `where i in 0:n` for a range, `where i = ...` for a local scalar");
}

TEST_CASE("reserved words cannot be names") {
    CHECK(error_of("max[i] := 2") ==
          "name: `max` is a reducer and cannot name an array\n"
          "  | max[i] := 2\n"
          "  | ^^^\n"
          "  = hint: choose another name, such as `max_`");
    CHECK(error_of("in := 2").starts_with("name: `in` is a keyword and cannot name an array\n"));
    CHECK(error_of("Y := pi[2]").starts_with("name: `pi` is a constant and cannot name an array"));
    CHECK(error_of("Y := sum[inf](2)")
              .starts_with("name: `inf` is a constant and cannot name an index\n"));
    CHECK(error_of("def sum(x) = x").starts_with("name: `sum` is a reducer and cannot name a f"));
    CHECK(error_of("Y := 1 where true = 2").starts_with("name: `true` is a constant and cannot"));
    CHECK(error_of("Y := $inf") ==
          "name: `inf` is reserved and cannot name a scalar\n"
          "  | Y := $inf\n"
          "  |      ^^^^\n"
          "  = hint: choose another name, such as `$inf_`");
    CHECK(error_of("Y := A[$end]").starts_with("name: `end` is reserved and cannot name a scalar"));
    CHECK(error_of("$c := 2") ==
          "syntax: `$c` is a scalar argument and cannot name an array\n"
          "  | $c := 2\n"
          "  | ^^\n"
          "  = hint: write `c`");
}

TEST_CASE("a reducer needs its indices and its parentheses") {
    CHECK(error_of("Y := mean(A[i])") ==
          "syntax: the reducer `mean` lacks its indices\n"
          "  | Y := mean(A[i])\n"
          "  |      ^^^^\n"
          "  = hint: write `mean[k](...)` to reduce over `k`");
    CHECK(error_of("Y := sum[k] A[k]") ==
          "syntax: expected `(` after the indices of `sum`, found `A`\n"
          "  | Y := sum[k] A[k]\n"
          "  |             ^\n"
          "  = hint: write `sum[k](...)`, with what is reduced in parentheses");
    CHECK_NOTHROW(tree("Y[i] := max(A[i], 0) + max[k](B[k])"));
}

TEST_CASE("the slot and the run of dimensions stand where they mean something") {
    CHECK(error_of("Y[i] := A[_]")
              .ends_with("= hint: `_` stands in targets only, as in `Y[_,j]` and `Y[i+_]`"));
    CHECK(error_of("Y[i] := ..")
              .ends_with("= hint: `..` stands alone in its subscript, as in `A[..,k]`"));
}

TEST_CASE("expressions nest 256 deep and no deeper") {
    const auto nested = [](std::size_t depth) {
        return "y := " + repeated(depth, "(") + "a" + repeated(depth, ")");
    };
    CHECK_NOTHROW(tree(nested(max_nesting)));
    CHECK(error_of(nested(max_nesting + 1))
              .starts_with("limit: the expression is nested more than 256 deep\n"));
}

TEST_CASE("no repetition of a rule overflows the stack") {
    for (const std::string part : {"(", "-", "!", "a^", "a?", "a?b:", "A[", "f(", "sum[k](",
                                   "sum[k|", "sum[k in ", "f(x="}) {
        CAPTURE(part);
        CHECK(error_of("y := " + repeated(100'000, part))
                  .starts_with("limit: the expression is nested more than 256 deep\n"));
    }
    CHECK(error_of(repeated(100'000, "A["))
              .starts_with("limit: the expression is nested more than 256 deep\n"));
}

TEST_CASE("the numbers of statements and of subscripts are limited") {
    CHECK_NOTHROW(tree(repeated(max_statements, "y+=1;")));
    CHECK(error_of(repeated(max_statements + 1, "y+=1;"))
              .starts_with("limit: the program has more than 10000 statements\n"));
    CHECK_NOTHROW(tree("Y := A[" + repeated(15, "0,") + "0]"));
    CHECK(error_of("Y := A[" + repeated(16, "0,") + "0]")
              .starts_with("limit: `A` has 17 subscripts, more than 16\n"));
    CHECK(error_of("Y[" + repeated(16, "_,") + "_] := 1")
              .starts_with("limit: `Y` has 17 subscripts, more than 16\n"));
}
