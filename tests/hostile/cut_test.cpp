// tests/hostile/cut_test.cpp – valid programs that were cut off, or had a token changed
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/source.h"
#include "base/text.h"
#include "dsl/lexer.h"
#include "tests/hostile/support.h"

namespace ricci::tests {
namespace {

std::vector<Span> token_spans(const SourcePtr& source) {
    std::vector<Span> spans;
    for (const Token& token : lex(source))
        if (!token.span.is_empty()) spans.push_back(token.span);
    return spans;
}

std::string with_span_as(const std::string& text, Span span, const std::string& other) {
    return text.substr(0, span.begin) + other + text.substr(span.end);
}

}  // namespace

TEST_CASE("the programs that are changed below are valid") {
    CHECK(valid_programs().size() > 50);
    for (const std::string& text : valid_programs()) {
        CAPTURE(text);
        CHECK(survives(text, [&] { understand(text); }) == "");
    }
}

TEST_CASE("every beginning of a program is understood or refused") {
    for (const std::string& text : valid_programs())
        for (std::size_t n = 0; n < text.size(); ++n)
            survives(text.substr(0, n), [&] { understand(text.substr(0, n)); });
}

TEST_CASE("a program without one of its tokens, or with one twice, is understood or refused") {
    for (const std::string& text : valid_programs()) {
        const SourcePtr source = make_source(text);
        for (const Span span : token_spans(source)) {
            const std::string token = text.substr(span.begin, span.end - span.begin);
            for (const std::string& other : {std::string(), token + " " + token}) {
                const std::string changed = with_span_as(text, span, other);
                survives(changed, [&] { understand(changed); });
            }
        }
    }
}

TEST_CASE("a program with one token replaced is understood or refused") {
    const std::vector<std::string> others = {
        "i",  "A", "0",   "-1", "(", ")", "[", "]",  ",",  ":", "+",   "==",  "?",    "$s",
        "..", "_", "end", "in", ";", "=", "|", "pi", "2i", "^", "sum", "def", "where"};
    std::size_t next = 0;
    for (const std::string& text : valid_programs()) {
        const SourcePtr source = make_source(text);
        for (const Span span : token_spans(source)) {
            // Every token meets some of them, and all programs together meet all.
            for (int n = 0; n < 4; ++n) {
                const std::string& other = others[next++ % others.size()];
                const std::string changed = with_span_as(text, span, " " + other + " ");
                survives(changed, [&] { understand(changed); });
            }
        }
    }
}

}  // namespace ricci::tests
