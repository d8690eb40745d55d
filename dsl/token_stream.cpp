// dsl/token_stream.cpp – the tokens ahead of a parser, and its complaints about them
#include "dsl/token_stream.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dsl/ops.h"

namespace ricci {

std::string describe(const Token& token) {
    if (token.kind == TokenKind::end) return "the end of the program";
    if (token.kind == TokenKind::separator && token.text == "\n") return "the end of the line";
    constexpr std::size_t longest = 40;
    const bool is_long = token.text.size() > longest;
    return format("`{}{}{}`", token.kind == TokenKind::scalar_name ? "$" : "",
                  token.text.substr(0, longest), is_long ? "..." : "");
}

const Token& TokenStream::peek(std::size_t ahead) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool TokenStream::is(std::string_view text, std::size_t ahead) const {
    const Token& token = peek(ahead);
    const bool is_fixed = token.kind == TokenKind::symbol || token.kind == TokenKind::assign ||
                          token.kind == TokenKind::keyword || token.kind == TokenKind::separator;
    return is_fixed && token.text == text;
}

bool TokenStream::is(TokenKind kind, std::size_t ahead) const { return peek(ahead).kind == kind; }

const Token& TokenStream::previous() const { return tokens_[at_ > 0 ? at_ - 1 : 0]; }

Span TokenStream::span_from(Span first) const { return {first.begin, previous().span.end}; }

std::string_view TokenStream::text(Span span) const {
    return std::string_view(source_->text).substr(span.begin, span.end - span.begin);
}

Token TokenStream::take() {
    const Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
}

bool TokenStream::accept(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
}

Token TokenStream::expect(std::string_view text, std::string_view hint) {
    if (!is(text)) expected(format("`{}`", text), std::string(hint));
    return take();
}

Token TokenStream::expect_closing(const Token& open) {
    const std::string_view closing = open.text == "[" ? "]" : ")";
    if (is(closing)) return take();
    throw Error(
        {.kind = ErrorKind::syntax,
         .message = format("expected `{}`, found {}", closing, describe(peek())),
         .source = source_,
         .labels = {{peek().span, ""}, {open.span, "opened here"}},
         .hint = follows_expression() ? operator_hint() : format("close it with `{}`", closing)});
}

bool TokenStream::follows_expression() const {
    return is("=") || is(TokenKind::name) || is(TokenKind::number) || is(TokenKind::scalar_name);
}

std::string TokenStream::operator_hint() const {
    if (is("=") && is(">", 1)) return "write `>=` to compare";
    if (is("=") && is("<", 1)) return "write `<=` to compare";
    if (is("=") && is("!", 1)) return "write `!=` to compare";
    if (is("=")) return "write `==` to compare";
    if (is(TokenKind::assign)) return "begin each statement on a line of its own, or after `;`";
    if (is("[")) return "subscripts follow the name of an array: name this value in a statement";
    if (is(",")) return "ranges follow `where`";
    if (is(")") || is("]")) return format("delete the `{}`", peek().text);
    if (is("?")) return "put the condition in parentheses";
    if (is(TokenKind::symbol)) return format("delete the `{}`", peek().text);
    if (is("in", 1)) return "write `where` before the ranges of a statement";
    return "write `*` between the factors of a product, `,` between subscripts or arguments";
}

Token TokenStream::expect_name(std::string_view what) {
    const Token& token = peek();
    if (is(TokenKind::scalar_name))
        fail(format("`${}` is a scalar argument and cannot name {}", token.text, what), token.span,
             format("write `{}`", token.text));
    if (is(TokenKind::keyword))
        fail(format("`{}` is a keyword and cannot name {}", token.text, what), token.span,
             format("choose another name, such as `{}_`", token.text), ErrorKind::name);
    if (!is(TokenKind::name)) expected(format("a name for {}", what), "names begin with a letter");
    const bool is_constant = is_constant_name(token.text);
    if (is_constant || reducer_from_name(token.text))
        fail(format("`{}` is a {} and cannot name {}", token.text,
                    is_constant ? "constant" : "reducer", what),
             token.span, format("choose another name, such as `{}_`", token.text), ErrorKind::name);
    return take();
}

void TokenStream::expected(std::string_view what, std::string hint) const {
    fail(format("expected {}, found {}", what, describe(peek())), peek().span, std::move(hint));
}

void TokenStream::fail(std::string message, Span where, std::string hint, ErrorKind kind) const {
    throw Error({.kind = kind,
                 .message = std::move(message),
                 .source = source_,
                 .labels = {{where, ""}},
                 .hint = std::move(hint)});
}

}  // namespace ricci
