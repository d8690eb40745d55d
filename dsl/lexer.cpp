// dsl/lexer.cpp – text to tokens
#include "dsl/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ricci {
namespace {

// Longest first, so that the first that fits is the longest that fits.
constexpr std::array<std::string_view, 5> assign_symbols = {":=", "+=", "-=", "*=", "="};
constexpr std::array<std::string_view, 30> symbols = {
    "==", "!=", "<=", ">=", "&&", "||", "//", "**", "..", "+", "-", "*", "/", "%", "^",
    "<",  ">",  "!",  "?",  ":",  ",",  "|",  "(",  ")",  "[", "]", ";", "_", "$", "\n"};
constexpr std::array<std::string_view, 4> keywords = {"in", "where", "def", "end"};
constexpr std::array<std::string_view, 5> constants = {"inf", "nan", "pi", "true", "false"};

/// Characters people write for an operator of the language.
struct Lookalike {
    char32_t code;
    std::string_view meant;
};
constexpr std::array<Lookalike, 13> lookalikes = {{
    {U'\u2264', "<="},
    {U'\u2265', ">="},
    {U'\u2260', "!="},
    {U'\u00d7', "*"},
    {U'\u00b7', "*"},
    {U'\u22c5', "*"},
    {U'\u2212', "-"},
    {U'\u00f7', "/"},
    {U'\u2208', "in"},
    {U'\u2026', ".."},
    {U'\u03c0', "pi"},
    {U'\u221e', "inf"},
    {U'\u2254', ":="},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

/// One scalar value of UTF-8 and its length, or nothing when the bytes are not UTF-8.
struct Decoded {
    char32_t code;
    std::size_t bytes;
};
std::optional<Decoded> decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto lead = byte(0);
    if (lead < 0x80) return Decoded{lead, 1};
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return std::nullopt;
    char32_t code = lead & (0xffu >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0u) != 0x80u) return std::nullopt;
        code = (code << 6) | (byte(i) & 0x3fu);
    }
    constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < least[bytes] || code > 0x10ffff || is_surrogate) return std::nullopt;
    return Decoded{code, bytes};
}

class Lexer {
  public:
    explicit Lexer(const SourcePtr& source) : source_(source), text_(source->text) {}

    std::vector<Token> run() {
        if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
        while (skip_blanks()) next();
        const auto last = tokens_.empty() ? std::uint32_t(at_) : tokens_.back().span.end;
        tokens_.push_back({TokenKind::end, {last, last}, {}});
        return std::move(tokens_);
    }

  private:
    std::string_view rest() const { return text_.substr(at_); }
    char peek(std::size_t ahead) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    Span span(std::size_t bytes) const { return {std::uint32_t(at_), std::uint32_t(at_ + bytes)}; }

    [[noreturn]] void fail(std::string message, Span where, std::string hint,
                           ErrorKind kind = ErrorKind::syntax) const {
        throw Error({.kind = kind,
                     .message = std::move(message),
                     .source = source_,
                     .labels = {{where, ""}},
                     .hint = std::move(hint)});
    }

    void take(TokenKind kind, std::size_t bytes, std::size_t skipped = 0) {
        tokens_.push_back({kind, span(bytes), text_.substr(at_ + skipped, bytes - skipped)});
        at_ += bytes;
    }

    /// Moves to the next token; false at the end of the text.
    bool skip_blanks() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#')
                skip_comment();
            else if (c == ' ' || c == '\t' || rest().starts_with("\r\n"))
                ++at_;
            else
                return true;
        }
        return false;
    }
    void skip_comment() {
        while (at_ < text_.size() && text_[at_] != '\n' && !rest().starts_with("\r\n"))
            at_ += text_[at_] == '\t' ? 1 : checked_character().bytes;
    }

    /// The character here, refused when it is no text at all.
    Decoded checked_character() const {
        const auto character = decode(rest());
        if (!character)
            fail(format("byte 0x{:02X} is not UTF-8", static_cast<unsigned char>(text_[at_])),
                 span(1), "save the program as UTF-8 text");
        if (character->code < 0x20 || character->code == 0x7f)
            fail(format("control character U+{:04X}", std::uint32_t(character->code)), span(1),
                 "delete the character");
        return *character;
    }

    void next() {
        const char c = text_[at_];
        if (is_digit(c)) return number();
        if (c == '.' && is_digit(peek(1)))
            fail("a number begins with a digit, found `.`", span(1), "write a `0` before the `.`");
        if (is_name_start(c)) return word();
        if (c == '$' && is_name_start(peek(1))) return scalar_name();
        symbol();
    }

    void word() {
        std::size_t bytes = 1;
        while (is_name_part(peek(bytes))) ++bytes;
        const auto word = rest().substr(0, bytes);
        const bool is_update =
            (word == "max" || word == "min") && peek(bytes) == '=' && peek(bytes + 1) != '=';
        if (is_update) return take(TokenKind::assign, bytes + 1);
        if (word == "_") return take(TokenKind::symbol, bytes);
        take(is_keyword(word) ? TokenKind::keyword : TokenKind::name, bytes);
    }
    void scalar_name() {
        std::size_t bytes = 2;
        while (is_name_part(peek(bytes))) ++bytes;
        take(TokenKind::scalar_name, bytes, 1);
    }

    void number() {
        std::size_t bytes = 1;
        bool is_integer = true;
        while (is_digit(peek(bytes))) ++bytes;
        if (peek(bytes) == '.' && is_digit(peek(bytes + 1))) {
            is_integer = false;
            ++bytes;
            while (is_digit(peek(bytes))) ++bytes;
        } else if (peek(bytes) == '.' && peek(bytes + 1) != '.') {
            fail("a number does not end in `.`", span(bytes + 1),
                 format("write `{}.0`", rest().substr(0, bytes)));
        }
        if (const auto exponent = exponent_bytes(bytes)) {
            is_integer = false;
            bytes += exponent;
        }
        check_range(rest().substr(0, bytes), is_integer);
        if (peek(bytes) == 'i' && !is_name_part(peek(bytes + 1))) ++bytes;
        check_end(bytes);
        take(TokenKind::number, bytes);
    }
    /// The length of `e-5` and the like after a number's first `bytes`, or 0.
    std::size_t exponent_bytes(std::size_t bytes) const {
        if (peek(bytes) != 'e' && peek(bytes) != 'E') return 0;
        std::size_t length = 1;
        if (peek(bytes + length) == '+' || peek(bytes + length) == '-') ++length;
        if (!is_digit(peek(bytes + length))) return 0;
        while (is_digit(peek(bytes + length))) ++length;
        return length;
    }
    void check_range(std::string_view digits, bool is_integer) const {
        const auto* const end = digits.data() + digits.size();
        if (is_integer) {
            std::int64_t value = 0;
            if (std::from_chars(digits.data(), end, value).ec == std::errc{}) return;
            fail("the integer is larger than 9223372036854775807", span(digits.size()),
                 format("write `{}.0` for a floating number", digits), ErrorKind::limit);
        }
        double value = 0;
        if (std::from_chars(digits.data(), end, value).ec == std::errc{}) return;
        fail("the number is out of the range of f64", span(digits.size()),
             "write `inf` or `0`, or a number between 5e-324 and 1.7e308", ErrorKind::limit);
    }
    /// A number is not followed by a name: `2k`, `0x1f`, `1e`.
    void check_end(std::size_t bytes) const {
        if (!is_name_part(peek(bytes))) return;
        std::size_t all = bytes + 1;
        while (is_name_part(peek(all))) ++all;
        const auto value = rest().substr(0, bytes);
        const auto name = rest().substr(bytes, all - bytes);
        fail(
            format("the number `{}` runs into `{}`", value, name), span(all),
            in_decimal(value, name).value_or(format("write `{} * {}` for a product", value, name)));
    }

    /// The hint for a number of another base, as in C: `0x1f`, `0b11`, `0o17`.
    static std::optional<std::string> in_decimal(std::string_view value, std::string_view name) {
        const char letter = name.front();
        const int base = letter == 'x' || letter == 'X'   ? 16
                         : letter == 'b' || letter == 'B' ? 2
                         : letter == 'o' || letter == 'O' ? 8
                                                          : 0;
        if (value != "0" || base == 0) return std::nullopt;
        const std::string_view digits = name.substr(1);
        const char* const end = digits.data() + digits.size();
        std::int64_t number = 0;
        const auto read = std::from_chars(digits.data(), end, number, base);
        if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
        return format("numbers are decimal: write `{}`", number);
    }

    void symbol() {
        for (const auto text : assign_symbols)
            if (rest().starts_with(text) && !rest().starts_with("==") && !rest().starts_with("**"))
                return take(TokenKind::assign, text.size());
        const auto* const found =
            std::ranges::find_if(symbols, [&](auto text) { return rest().starts_with(text); });
        if (found == symbols.end()) unknown_character();
        if (*found == "$")
            fail("`$` stands before the name of a scalar argument", span(1), "write `$c`");
        if (*found == "\n") return newline();
        if (*found == "(" || *found == "[") ++open_brackets_;
        if ((*found == ")" || *found == "]") && open_brackets_ > 0) --open_brackets_;
        take(*found == ";" ? TokenKind::separator : TokenKind::symbol, found->size());
    }
    void newline() {
        if (ends_statement())
            take(TokenKind::separator, 1);
        else
            ++at_;
    }
    bool ends_statement() const {
        if (open_brackets_ > 0 || tokens_.empty()) return false;
        const auto& last = tokens_.back();
        if (last.kind == TokenKind::keyword) return last.text == "end";
        if (last.kind == TokenKind::symbol)
            return last.text == "]" || last.text == ")" || last.text == "_" || last.text == "..";
        return last.kind != TokenKind::assign && last.kind != TokenKind::separator;
    }

    [[noreturn]] void unknown_character() const {
        const auto character = checked_character();
        const auto where = span(character.bytes);
        const auto shown = rest().substr(0, character.bytes);
        const auto* const lookalike =
            std::ranges::find(lookalikes, character.code, &Lookalike::code);
        if (lookalike != lookalikes.end())
            fail(format("character U+{:04X} `{}` is not part of the language",
                        std::uint32_t(character.code), shown),
                 where, format("write `{}`", lookalike->meant));
        if (character.code >= 0x80)
            fail(format("character U+{:04X} `{}` is not part of the language",
                        std::uint32_t(character.code), shown),
                 where, "names are made of ASCII letters, digits and `_`");
        fail(format("character `{}` is not part of the language", shown), where, hint(shown));
    }
    static std::string hint(std::string_view character) {
        if (character == "&") return "write `&&` for the logical and";
        if (character == ".") return "write `..` for a run of dimensions";
        if (character == "{") return "write `[` for subscripts and `(` to group";
        if (character == "}") return "write `]` for subscripts and `)` to group";
        if (character == "~") return "write `!` for the logical not";
        return "delete the character";
    }

    SourcePtr source_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t open_brackets_ = 0;
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(const SourcePtr& source) {
    if (source->text.size() > max_source_bytes)
        throw Error({.kind = ErrorKind::limit,
                     .message = format("the program has {} bytes, more than {}",
                                       source->text.size(), max_source_bytes),
                     .hint = "split the program"});
    return Lexer(source).run();
}

bool is_keyword(std::string_view word) noexcept {
    return std::ranges::find(keywords, word) != keywords.end();
}

bool is_constant_name(std::string_view name) noexcept {
    return std::ranges::find(constants, name) != constants.end();
}

}  // namespace ricci
