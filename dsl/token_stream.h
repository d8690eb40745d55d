// dsl/token_stream.h – the tokens ahead of a parser, and its complaints about them
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dsl/lexer.h"

namespace ricci {

/// `Y`, `;`, ... in backticks; `the end of the line`, `the end of the program`.
[[nodiscard]] std::string describe(const Token& token);

/// A cursor over the tokens of one source. It never moves past the end token.
class TokenStream {
  public:
    explicit TokenStream(const SourcePtr& source) : source_(source), tokens_(lex(source)) {}

    [[nodiscard]] const SourcePtr& source() const noexcept { return source_; }
    /// The token that many places ahead; the end token past the end.
    [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
    /// Whether that token is the operator, punctuation or keyword of that text.
    [[nodiscard]] bool is(std::string_view text, std::size_t ahead = 0) const;
    [[nodiscard]] bool is(TokenKind kind, std::size_t ahead = 0) const;
    /// The token last taken.
    [[nodiscard]] const Token& previous() const;
    /// The place from the beginning of `first` to the end of the token last taken.
    [[nodiscard]] Span span_from(Span first) const;
    /// The source's text of a place.
    [[nodiscard]] std::string_view text(Span span) const;

    Token take();
    /// Takes the token when it is the operator, punctuation or keyword of that text.
    bool accept(std::string_view text);
    /// Takes that token. Throws: `syntax` naming what is there instead.
    Token expect(std::string_view text, std::string_view hint);
    /// Takes the bracket that closes `open`. Throws: `syntax` that shows both places.
    Token expect_closing(const Token& open);
    /// Takes a name that may be given to `what` (`an array`, `an index`): no keyword, no constant,
    /// no reducer. Throws: `syntax` when it is not a name at all, `name` when it is reserved.
    Token expect_name(std::string_view what);

    /// What to type when the present token cannot follow a complete expression.
    [[nodiscard]] std::string operator_hint() const;
    /// Throws `syntax`: expected `what`, found the present token.
    [[noreturn]] void expected(std::string_view what, std::string hint) const;
    [[noreturn]] void fail(std::string message, Span where, std::string hint,
                           ErrorKind kind = ErrorKind::syntax) const;

  private:
    [[nodiscard]] bool follows_expression() const;

    SourcePtr source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

}  // namespace ricci
