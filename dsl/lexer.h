// dsl/lexer.h – text to tokens
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace ricci {

/// `symbol` names both operators and punctuation; which one is its text.
enum class TokenKind : std::uint8_t {
    number,       ///< `1`, `2.5`, `1e-5`, `1i`
    name,         ///< constants and reducers too; never a keyword, never `_`
    scalar_name,  ///< `$name`
    keyword,      ///< `in`, `where`, `def`, `end`
    assign,       ///< `:=`, `=`, `+=`, `-=`, `*=`, `max=`, `min=`
    symbol,       ///< the longest of the other operators, brackets, `,`, `:`, `?`, `|`, `..`, `_`
    separator,    ///< the end of a statement: `;` or a newline that ends one
    end,          ///< the end of the text, always the last token
};

struct Token {
    TokenKind kind = TokenKind::end;
    Span span;
    std::string_view text;  ///< in the source, which outlives the token; `$s` without its `$`
};

/// The longest program text, in bytes.
inline constexpr std::size_t max_source_bytes = std::size_t{1} << 20;

/// The tokens of a program, without comments, blanks and the newlines that end no statement
/// (those inside brackets and those after an operator, a comma, `where`, `in` or `def`).
/// Throws: `syntax` for what is not the language's; `limit` for a text too long and a number out
/// of range.
[[nodiscard]] std::vector<Token> lex(const SourcePtr& source);

/// Whether the word is a keyword: `in`, `where`, `def`, `end`.
[[nodiscard]] bool is_keyword(std::string_view word) noexcept;
/// Whether the name is a constant: `inf`, `nan`, `pi`, `true`, `false`.
[[nodiscard]] bool is_constant_name(std::string_view name) noexcept;

}  // namespace ricci
