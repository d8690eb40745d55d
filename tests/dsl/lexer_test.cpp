// tests/dsl/lexer_test.cpp – tokens, where statements end, what is no part of the language
#include "dsl/lexer.h"

#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/support/error_text.h"

using namespace ricci;
using tests::error_text;

namespace {

/// The tokens' texts with `|` between them; a separator is `;`, `$s` keeps its `$`.
std::string tokens(const std::string& text) {
    const auto source = make_source(text);
    std::vector<std::string> shown;
    for (const Token& token : lex(source)) {
        if (token.kind == TokenKind::end) continue;
        const bool is_separator = token.kind == TokenKind::separator;
        const std::string mark = token.kind == TokenKind::scalar_name ? "$" : "";
        shown.push_back(is_separator ? ";" : mark + std::string(token.text));
    }
    return join(shown, " ");
}

std::string error_of(const std::string& text) {
    return error_text([&] { (void)tokens(text); });
}

}  // namespace

TEST_CASE("the longest operator is taken") {
    CHECK(tokens("a**b*=c//d/e!=!f<=g<h:=i:j") == "a ** b *= c // d / e != ! f <= g < h := i : j");
    CHECK(tokens("a==b=c>=d&&e||f|g..h") == "a == b = c >= d && e || f | g .. h");
}

TEST_CASE("an update by max or min is one token, the functions and reducers are names") {
    CHECK(tokens("M max= x") == "M max= x");
    CHECK(tokens("M min=x") == "M min= x");
    CHECK(tokens("max[k](x) + min(a,b)") == "max [ k ] ( x ) + min ( a , b )");
    CHECK(tokens("max==x") == "max == x");
}

TEST_CASE("numbers are integers, floating or imaginary") {
    CHECK(tokens("1 2.5 1e-5 1E+3 1i 2.5e3i 007") == "1 2.5 1e-5 1E+3 1i 2.5e3i 007");
    CHECK(tokens("9223372036854775807") == "9223372036854775807");
    CHECK(tokens("A[1..]") == "A [ 1 .. ]");
}

TEST_CASE("a name may contain an underscore, which alone is a slot") {
    CHECK(tokens("dX_[_,i+_] $s _a") == "dX_ [ _ , i + _ ] $s _a");
}

TEST_CASE("newlines and semicolons end statements, several are one") {
    CHECK(tokens("a\n\n# comment\nb; \n c\n") == "a ; b ; c ;");
    CHECK(tokens("\n\n a") == "a");
    CHECK(tokens("a\r\nb # x\r\nc") == "a ; b ; c");
}

TEST_CASE("a newline inside brackets or after an operator, a comma or `where` ends nothing") {
    CHECK(tokens("A[i,\n j] := (b\n + c\n)") == "A [ i , j ] := ( b + c )");
    CHECK(tokens("y :=\n a +\n b *\n c ?\n d :\n e") == "y := a + b * c ? d : e");
    CHECK(tokens("y := a where\n i in\n 0:3,\n j in 0:\n 2") ==
          "y := a where i in 0 : 3 , j in 0 : 2");
    CHECK(tokens("y := A[end]\nz := 1") == "y := A [ end ] ; z := 1");
    CHECK(tokens("y max=\n a") == "y max= a");
}

TEST_CASE("a comment may hold any UTF-8 text") {
    CHECK(tokens("a # \xce\xb1\xe2\x89\xa4\xf0\x9f\x98\x80 [ ( :=") == "a");
}

TEST_CASE("a byte order mark is skipped") {
    CHECK(tokens("\xef\xbb\xbf"
                 "a := b") == "a := b");
}

TEST_CASE("tokens know their place") {
    const auto source = make_source("Y := $s");
    const auto found = lex(source);
    REQUIRE(found.size() == 4);
    CHECK(found[2].span == Span{5, 7});
    CHECK(found[2].text == "s");
    CHECK(found[3].span == Span{7, 7});
}

TEST_CASE("bytes that are not UTF-8 are refused with their code") {
    CHECK(error_of("Y := \xff") ==
          "syntax: byte 0xFF is not UTF-8\n"
          "  | Y := \xef\xbf\xbd\n"
          "  |      ^\n"
          "  = hint: save the program as UTF-8 text");
    CHECK(error_of("a # \xc0\x80").starts_with("syntax: byte 0xC0 is not UTF-8"));
    CHECK(error_of("a # \xed\xa0\x80").starts_with("syntax: byte 0xED is not UTF-8"));
    CHECK(error_of("a # \xe2\x89").starts_with("syntax: byte 0xE2 is not UTF-8"));
    CHECK(error_of("a # \xf4\x90\x80\x80").starts_with("syntax: byte 0xF4 is not UTF-8"));
}

TEST_CASE("control characters are refused with their code") {
    CHECK(error_of(std::string("a\0b", 3)).starts_with("syntax: control character U+0000"));
    CHECK(error_of("a\rb").starts_with("syntax: control character U+000D"));
    CHECK(error_of("a # \x1b[0m").starts_with("syntax: control character U+001B"));
    CHECK(error_of("a \x7f").starts_with("syntax: control character U+007F"));
}

TEST_CASE("characters that look like an operator are answered with it") {
    CHECK(error_of("k \xe2\x89\xa4 q") ==
          "syntax: character U+2264 `\xe2\x89\xa4` is not part of the language\n"
          "  | k \xe2\x89\xa4 q\n"
          "  |   ^\n"
          "  = hint: write `<=`");
    CHECK(error_of("a & b") ==
          "syntax: character `&` is not part of the language\n"
          "  | a & b\n"
          "  |   ^\n"
          "  = hint: write `&&` for the logical and");
    CHECK(error_of("\xce\xb1 := 1") ==
          "syntax: character U+03B1 `\xce\xb1` is not part of the language\n"
          "  | \xce\xb1 := 1\n"
          "  | ^\n"
          "  = hint: names are made of ASCII letters, digits and `_`");
}

TEST_CASE("malformed numbers are refused") {
    CHECK(error_of("Y := 3k") ==
          "syntax: the number `3` runs into `k`\n"
          "  | Y := 3k\n"
          "  |      ^^\n"
          "  = hint: write `3 * k` for a product");
    CHECK(error_of("Y := 1e").starts_with("syntax: the number `1` runs into `e`"));
    CHECK(error_of("Y := 0x1f").starts_with("syntax: the number `0` runs into `x1f`"));
    CHECK(error_of("Y := 2.") ==
          "syntax: a number does not end in `.`\n"
          "  | Y := 2.\n"
          "  |      ^^\n"
          "  = hint: write `2.0`");
    CHECK(error_of("Y := .5") ==
          "syntax: a number begins with a digit, found `.`\n"
          "  | Y := .5\n"
          "  |      ^\n"
          "  = hint: write a `0` before the `.`");
}

TEST_CASE("numbers out of range are refused") {
    CHECK(error_of("Y := 1e999") ==
          "limit: the number is out of the range of f64\n"
          "  | Y := 1e999\n"
          "  |      ^^^^^\n"
          "  = hint: write `inf` or `0`, or a number between 5e-324 and 1.7e308");
    CHECK(error_of("Y := 1e-999").starts_with("limit: the number is out of the range of f64"));
    CHECK(error_of("Y := 9223372036854775808") ==
          "limit: the integer is larger than 9223372036854775807\n"
          "  | Y := 9223372036854775808\n"
          "  |      ^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: write `9223372036854775808.0` for a floating number");
}

TEST_CASE("a dollar stands before a name") {
    CHECK(error_of("A[$ c]") ==
          "syntax: `$` stands before the name of a scalar argument\n"
          "  | A[$ c]\n"
          "  |   ^\n"
          "  = hint: write `$c`");
}

TEST_CASE("a program longer than a mebibyte is refused") {
    CHECK(tokens(std::string(max_source_bytes, ' ')).empty());
    CHECK(error_of(std::string(max_source_bytes + 1, ' ')) ==
          "limit: the program has 1048577 bytes, more than 1048576\n"
          "  = hint: split the program");
}
