// tests/hostile/large_test.cpp – programs as long as they may be, of many kinds
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/lexer.h"
#include "tests/hostile/support.h"

namespace ricci::tests {
namespace {

/// The text repeated up to the longest that a program may be, between two others.
std::string filled(std::string_view before, std::string_view text, std::string_view after) {
    const std::size_t room = max_source_bytes - before.size() - after.size();
    return std::string(before) + repeated(text, room / text.size()) + std::string(after);
}

std::string said(const std::string& text) {
    return survives(text.substr(0, 60), [&] { understand(text); });
}

std::string numbered(std::string_view before, std::string_view step, std::size_t count,
                     std::string_view after) {
    std::string text(before);
    for (std::size_t n = 0; n < count; ++n) text += fmt::format(fmt::runtime(step), n);
    return text + std::string(after);
}

}  // namespace

TEST_CASE("a program has at most one mebibyte") {
    CHECK(said(filled("s := x#", "c", "")) == "");
    CHECK(said(filled("s := x#", "c", "") + "c") ==
          "limit: the program has 1048577 bytes, more than 1048576");
    CHECK(said(repeated("x", 20'000'000)).starts_with("limit: the program has 20000000 bytes"));
}

TEST_CASE("one long word") {
    CHECK(said(filled("s := ", "x", "")) == "");
    CHECK(said(filled("", "x", " := 1")) == "");
    CHECK(said(filled("s := x ", "x", "")) != "");
    CHECK(said(filled("s := ", "1", "")) != "");
    CHECK(said(filled("s := 1.", "1", "")) == "");
    CHECK(said(filled("s := 1e", "1", "")) != "");
    CHECK(said(filled("s := 0.", "0", "1")) != "");
    CHECK(said(filled("s := f", "f", "(x)")) != "");
    CHECK(said(filled("Y[i] := A[i]*", "B", "[i] + A[i,i]")).starts_with("shape: `A` has 2 and 1"));
}

TEST_CASE("many operands") {
    CHECK(said(filled("s := x", "+x", "")) == "");
    CHECK(said(filled("s := x", "*x", "")) == "");
    CHECK(said(filled("s := x", "/x", "")) == "");
    CHECK(said(filled("s := x", "<x", "")) != "");
    CHECK(said(filled("s := x", "^x", "")) != "");
    CHECK(said(filled("s := ", "-", "x")) != "");
    CHECK(said(filled("s := max(x", ",x", ")")) != "");
    CHECK(said(filled("Y[i] := A[i", "+i", "]")) != "internal");
    CHECK(said(filled("Y[i] := A[i]", "+A[i,k]", "")) != "");
    CHECK(said(filled("Y[i] := A[i,k]", "+A[i,k]", "")) == "");
    CHECK(said(numbered("s := 0", "+x*{}", 100'000, "")) == "");
    CHECK(said(numbered("Y[i] := 0", "+a{}[i]", 40'000, "")) == "");
    CHECK(said(numbered("Y[i] := 0", "+A[i+{}]", 20'000, "")) == "");
}

TEST_CASE("many sums and reducers") {
    CHECK(said(numbered("Y[i] := 0", "+{}*A[i,k]", 3'000, "")) == "");
    CHECK(said(numbered("Y[i] := 0", "+{}*A[i,k]", 60'000, "")).starts_with("limit: "));
    CHECK(said(numbered("Y[i] := 0", "+A[i,k{}]", 60'000, "")).starts_with("limit: "));
    CHECK(said(numbered("Y[i] := 0", "*A[i,k{}]", 60'000, "")).starts_with("limit: "));
    CHECK(said(filled("Y[i] := 0", "+sum[k](A[i,k])", "")).starts_with("limit: "));
    CHECK(said(filled("Y[i] := 0", "+sum[k](u)", " where u = A[i,k]")).starts_with("limit: "));
    CHECK(said(numbered("Y[i] := 0", "+max[k](A[i,k] + {})", 2'000, "")) == "");
}

TEST_CASE("many statements") {
    CHECK(said(numbered("", "Y{}[i] := A[i]\n", 10'000, "")) == "");
    CHECK(said(numbered("", "Y{}[i] := A[i]\n", 10'001, "")) ==
          "limit: the program has more than 10000 statements");
    CHECK(said(numbered("", "def f{}(x) = x\n", 10'000, "s := 1")) ==
          "limit: the program has more than 10000 statements");
    CHECK(said(filled("s := x", ";", "")) == "");
    CHECK(said(filled("", "\n", "s := x")) == "");
}

TEST_CASE("statements that depend on one another") {
    const auto chain = [](std::string_view first, std::string_view step) {
        std::string text(first);
        for (int n = 1; n < 10'000; ++n) text += fmt::format(fmt::runtime(step), n, n - 1);
        return text;
    };
    CHECK(said(chain("Y0[i] := A[i]\n", "Y{}[i] := Y{}[i]*2\n")) == "");
    CHECK(said(chain("Y0[i] := A[i]\n", "Y{}[i] := Y{}[i+1]\n")) == "");
    CHECK(said(chain("Y0[i] := A[i]\n", "Y{0}[i] := Y{1}[i]/sum[k](Y{1}[k])\n")) == "");
    CHECK(said(chain("Y0[i] := A[i]\n", "Y{}[i] := Y{}[i//2]\n")) == "");
    CHECK(said(chain("Y0[i,j] := A[i,j]\n", "Y{}[i,j] := Y{}[i,k]*A[k,j]\n")) == "");
    CHECK(said(chain("Y0[..] := A[..]\n", "Y{}[..] := Y{}[..]\n")) == "");
    CHECK(said(chain("Y0[i] := A[i]\n", "Y0[i] += {0}*A[i]\n")) == "");
    CHECK(said(chain("Y0[i] := A[i]\n", "Y{0}[i] := mean[k | k <= i](Y{1}[i]*Y{1}[k])\n")) == "");
}

TEST_CASE("ranks of runs that are known late") {
    std::string text;
    for (int n = 0; n < 9'000; ++n) text += format("Y{0}[..] := A{0}[..] + A{1}[..]\n", n, n + 1);
    text += "Z[i] := A9000[i]";
    CHECK(said(text) == "");
}

TEST_CASE("many dimensions, indices, arguments, clauses") {
    CHECK(said(filled("Y[i", ",i", "] := 1")) != "");
    CHECK(said(filled("Y[i] := A[i", ",i", "]")) != "");
    CHECK(said(numbered("Y[i] := sum[j", ",j{}", 100'000, "](1)")).starts_with("limit: "));
    CHECK(said(numbered("Y[i] := A[i] where j = 1", ", j{} = 2", 80'000, "")) == "");
    CHECK(said(numbered("Y[i] := A[i] where i in 0:3", ", j{} in 0:3", 60'000, "")) ==
          "range: the statement has no index `j0`");
    CHECK(said(numbered("def f(x", ",x{}", 10'000, ") = x; s := f(1)")) != "");
    CHECK(said(filled("Y[i] := A[i] where i in 0:3", ", i in 0:3", "")) ==
          "range: `i` is given two ranges");
}

TEST_CASE("only brackets, or what no program holds") {
    for (const char* text : {"(",
                             "[",
                             "]",
                             ")",
                             "()",
                             "[]",
                             "A[",
                             ".",
                             "..",
                             ",",
                             "|",
                             "?",
                             ":",
                             "=",
                             "_",
                             "$",
                             "\"",
                             "{",
                             "@",
                             "\\",
                             "\x01",
                             "\x7f",
                             "\xff",
                             "\xc3",
                             "\xe2\x89\xa4",
                             "\xf0\x9f\x98\x80",
                             "#",
                             "\r",
                             "\r\n",
                             "\t",
                             "in ",
                             "end ",
                             "def ",
                             "sum[",
                             "1 ",
                             "x ",
                             "- "}) {
        CAPTURE(text);
        CHECK(said(filled("s[i] := ", text, "")) != "");
    }
    CHECK(said(std::string(1'000'000, '\0')) != "");
    CHECK(said(std::string("s := x\0", 7)) == "syntax: control character U+0000");
    CHECK(said("s := x # \xff\xfe") == "syntax: byte 0xFF is not UTF-8");
    CHECK(said("s := x\r\nt := x\r\n") == "");
    CHECK(said(filled("s := x", "\r\n", "")) == "");
}

TEST_CASE("nested subscripts, many times") {
    const std::string nested = "A[" + repeated("A[", 200) + "i" + repeated("]", 201);
    said(filled("Y[i] := 0", "+" + nested, " where i in 0:1"));
}

}  // namespace ricci::tests
