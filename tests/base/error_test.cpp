// tests/base/error_test.cpp – whole texts of errors
#include "base/error.h"

#include <random>

#include <doctest/doctest.h>

#include "base/text.h"

namespace ricci {
namespace {

TEST_CASE("an error shows the source, the marked places, their notes and a hint") {
    const Error error({.kind = ErrorKind::shape,
                       .message = "index `k` has two extents, 32 and 64",
                       .source = make_source("C[i,j] := A[i,k] * B[k,j]"),
                       .labels = {{{14, 15}, "32 here: dimension 1 of A [8, 32]"},
                                  {{21, 22}, "64 here: dimension 0 of B [64, 16]"}},
                       .hint = "slice one operand, or give the two dimensions different index "
                               "names"});
    CHECK(std::string(error.what()) ==
          "shape: index `k` has two extents, 32 and 64\n"
          "  | C[i,j] := A[i,k] * B[k,j]\n"
          "  |               ^      ~\n"
          "  |               |      64 here: dimension 0 of B [64, 16]\n"
          "  |               32 here: dimension 1 of A [8, 32]\n"
          "  = hint: slice one operand, or give the two dimensions different index names");
    CHECK(error.kind() == ErrorKind::shape);
}

TEST_CASE("an error without a source is one line") {
    CHECK(render({.kind = ErrorKind::io, .message = "cannot read `a.npy`"}) ==
          "io: cannot read `a.npy`");
}

TEST_CASE("a longer place is marked over its whole length") {
    CHECK(render({.kind = ErrorKind::name,
                  .message = "`foo` is unknown",
                  .source = make_source("y := foo(x)"),
                  .labels = {{{5, 8}, ""}}}) ==
          "name: `foo` is unknown\n"
          "  | y := foo(x)\n"
          "  |      ^^^");
}

TEST_CASE("a place without a note draws no connector") {
    CHECK(render({.kind = ErrorKind::name,
                  .message = "m",
                  .source = make_source("abc + abd + abe"),
                  .labels = {{{6, 9}, ""}, {{0, 3}, "first"}, {{12, 15}, "third"}}}) ==
          "name: m\n"
          "  | abc + abd + abe\n"
          "  | ~~~   ^^^   ~~~\n"
          "  | |           third\n"
          "  | first");
}

TEST_CASE("where places overlap the first label is seen") {
    CHECK(render({.kind = ErrorKind::name,
                  .message = "m",
                  .source = make_source("a + b"),
                  .labels = {{{4, 5}, "here"}, {{0, 5}, "in this sum"}}}) ==
          "name: m\n"
          "  | a + b\n"
          "  | ~~~~^\n"
          "  | |   here\n"
          "  | in this sum");
}

TEST_CASE("a place past the end of the text is one past its last word") {
    const Diagnosis diagnosis{.kind = ErrorKind::syntax,
                              .message = "an expression is missing",
                              .source = make_source("y := a +  \n\n"),
                              .labels = {{{90, 95}, ""}}};
    CHECK(render(diagnosis) ==
          "syntax: an expression is missing\n"
          "  | y := a +\n"
          "  |         ^");
}

TEST_CASE("lines of a longer source are shown with their numbers") {
    CHECK(render({.kind = ErrorKind::name,
                  .message = "`y` is made twice",
                  .source = make_source("y := a\nz := b\r\ny := c\n"),
                  .labels = {{{15, 16}, "again"}, {{0, 1}, "first"}},
                  .hint = "use `=`"}) ==
          "name: `y` is made twice\n"
          "1 | y := a\n"
          "  | ~\n"
          "  | first\n"
          "3 | y := c\n"
          "  | ^\n"
          "  | again\n"
          "  = hint: use `=`");
}

TEST_CASE("line numbers of two digits widen the margin") {
    CHECK(render({.kind = ErrorKind::syntax,
                  .message = "m",
                  .source = make_source("\n\n\n\n\n\n\n\n\nab\n", "net.ricci"),
                  .labels = {{{10, 11}, ""}},
                  .hint = "h"}) ==
          "syntax: m\n"
          "   --> net.ricci:10:2\n"
          "10 | ab\n"
          "   |  ^\n"
          "   = hint: h");
}

TEST_CASE("columns count characters, tabs are four blanks") {
    CHECK(render({.kind = ErrorKind::syntax,
                  .message = "m",
                  .source = make_source("\t\xC3\xA4 + b"),
                  .labels = {{{6, 7}, "here"}}}) ==
          "syntax: m\n"
          "  |     \xC3\xA4 + b\n"
          "  |         ^\n"
          "  |         here");
}

TEST_CASE("control characters and broken UTF-8 are replaced") {
    CHECK(render({.kind = ErrorKind::syntax,
                  .message = "m",
                  .source = make_source("a\x1B[2J\xFF\xC3"),
                  .labels = {{{1, 2}, ""}}}) ==
          "syntax: m\n"
          "  | a\xEF\xBF\xBD[2J\xEF\xBF\xBD\xEF\xBF\xBD\n"
          "  |  ^");
}

TEST_CASE("of a long line the surroundings of the places are shown") {
    const std::string text =
        std::string(200, 'a') + "X" + std::string(200, 'b') + "Y" + std::string(200, 'c');
    CHECK(render({.kind = ErrorKind::syntax,
                  .message = "m",
                  .source = make_source(text),
                  .labels = {{{200, 201}, "x"}, {{401, 402}, "y"}}}) ==
          format("syntax: m\n"
                 "  | {e}{a}X{b}{e}{b}Y{c}{e}\n"
                 "  |  {s}^{s} {s}~\n"
                 "  |  {s}|{s} {s}y\n"
                 "  |  {s}x",
                 fmt::arg("a", std::string(30, 'a')), fmt::arg("b", std::string(30, 'b')),
                 fmt::arg("c", std::string(30, 'c')), fmt::arg("s", std::string(30, ' ')),
                 fmt::arg("e", "\xE2\x80\xA6")));
}

TEST_CASE("a place may begin after it ends or lie in an empty text") {
    CHECK(render({.kind = ErrorKind::syntax,
                  .message = "the program is empty",
                  .source = make_source(""),
                  .labels = {{{7, 3}, ""}}}) ==
          "syntax: the program is empty\n"
          "  | \n"
          "  | ^");
}

TEST_CASE("no text and no places are too strange to be shown") {
    std::mt19937 random(1);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (int round = 0; round < 2000; ++round) {
        CAPTURE(round);
        std::string text(below(300), ' ');
        for (char& c : text) c = "ab\n\r\t\xC3\xA4\xFF\x1B"[below(9)];
        std::vector<Label> labels(1 + below(4));
        for (Label& label : labels) label = {{below(320), below(320)}, below(2) == 0 ? "" : "note"};
        const std::string shown = render({.kind = ErrorKind::syntax,
                                          .message = "m",
                                          .source = make_source(text),
                                          .labels = labels});
        CHECK(shown.find_first_of("\t\r\x1B\xFF") == std::string::npos);
        CHECK(shown.find('^') != std::string::npos);
    }
}

TEST_CASE("every kind has its name") {
    CHECK(name(ErrorKind::syntax) == "syntax");
    CHECK(name(ErrorKind::gradient) == "gradient");
    CHECK(name(ErrorKind::internal) == "internal");
}

TEST_CASE("a broken invariant is an internal error that says where") {
    const auto line = __LINE__ + 2;
    try {
        RICCI_ASSERT(1 + 1 == 3, "arithmetic has changed");
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(std::string(error.what()) ==
              format("internal: arithmetic has changed (`1 + 1 == 3` does not hold at "
                     "base/error_test.cpp:{})\n"
                     "  = hint: this is a defect of Ricci: please report it with the program",
                     line));
    }
}

}  // namespace
}  // namespace ricci
