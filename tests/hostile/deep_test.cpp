// tests/hostile/deep_test.cpp – programs that nest deep, by themselves or when written out
#include <string>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/hostile/support.h"

namespace ricci::tests {
namespace {

/// `Y[i] := ` and the value nested so many times: `open value close`.
std::string nested(std::string_view open, std::string_view value, std::string_view close,
                   std::size_t depth) {
    return "Y[i] := " + repeated(open, depth) + std::string(value) + repeated(close, depth);
}

/// What checking the program says.
std::string said(const std::string& text) {
    return survives(text.substr(0, 60), [&] { understand(text); });
}

const std::string too_deep = "limit: the expression is nested more than 256 deep";

/// Accepted below the limit of nesting, refused above it, far above it too.
void check_nesting(std::string_view open, std::string_view value, std::string_view close,
                   std::size_t most = 255) {
    CAPTURE(open);
    CHECK(said(nested(open, value, close, most)) == "");
    CHECK(said(nested(open, value, close, 257)) == too_deep);
    const std::size_t longest = 1'000'000 / (open.size() + close.size());
    CHECK(said(nested(open, value, close, longest)) == too_deep);
}

/// Definitions (or statements, or locals) that each use the one before.
std::string chain(std::string_view first, std::string_view step, std::string_view last,
                  std::size_t count) {
    std::string text(first);
    for (std::size_t n = 1; n < count; ++n) text += fmt::format(fmt::runtime(step), n, n - 1);
    return text + fmt::format(fmt::runtime(last), count - 1);
}

}  // namespace

TEST_CASE("an expression nests 256 deep") {
    check_nesting("(", "A[i]", ")");
    check_nesting("-", "A[i]", "");
    check_nesting("!", "A[i]", "");
    check_nesting("A[i] ? 1 : ", "A[i]", "");
    check_nesting("sin(", "A[i]", ")");
    check_nesting("2^", "A[i]", "");
    check_nesting("(A[i] + ", "A[i]", ")");
    check_nesting("A[", "i", "]");
    check_nesting("max(A[i], ", "A[i]", ")");
}

TEST_CASE("brackets that are never closed, or never opened") {
    for (const char* bracket : {"(", "[", ")", "]", "A[", "sin(", "sum[k](", "([", "A[(", ","})
        for (const std::size_t depth : {10U, 300U, 100'000U}) {
            CAPTURE(bracket);
            CHECK(said("Y[i] := " + repeated(bracket, depth)) != "");
            CHECK(said(repeated(bracket, depth)) != "");
        }
}

TEST_CASE("reducers nest as deep as there are indices") {
    const auto reducers = [](int depth) {
        std::string open;
        for (int n = 0; n < depth; ++n) open += format("sum[k{} in 0:2](", n);
        return "Y[i] := " + open + "A[i]" + repeated(")", std::size_t(depth));
    };
    CHECK(said(reducers(31)) == "");
    CHECK(said(reducers(32)) == "limit: the statement has more than 32 indices: `k31` is one more");
    CHECK(said(reducers(250)) != "");
    CHECK(said("Y[i] := " + repeated("sum[k in 0:2](", 200) + "A[i]" + repeated(")", 200)) ==
          "name: `k` is bound already");
}

TEST_CASE("definitions that double are shared, not written out") {
    for (const char* body : {"x+x", "x*x", "x+1.5+x", "2*x+1", "x*x+x", "x-x", "exp(x)*x", "x^x"})
        for (const std::size_t depth : {20U, 40U, 200U}) {
            CAPTURE(body);
            CAPTURE(depth);
            const std::string start = format("def f(x) = {}\ndef g0(x) = f(x)\n", body);
            CHECK(said(chain(start, "def g{0}(x) = f(g{1}(x))\n", "Y[i] := g{0}(A[i])", depth)) ==
                  "");
        }
    // Called with the same argument twice, a definition is inlined once.
    CHECK(said(chain("def g0(x) = exp(x)\n", "def g{0}(x) = g{1}(x) - sin(g{1}(x))\n",
                     "Y[i] := g{0}(A[i])", 200)) == "");
}

TEST_CASE("definitions that double with other arguments each time meet the limit of terms") {
    const auto doubling = [](std::size_t depth) {
        return chain("def g0(x) = exp(x)\n", "def g{0}(x) = sin(g{1}(x)) + g{1}(x + {0}.5)\n",
                     "Y[i] := g{0}(A[i])", depth);
    };
    const std::string too_many =
        "limit: the program has more than 1000000 terms, shared ones counted once and definitions "
        "and locals inlined";
    CHECK(said(doubling(12)) == "");
    CHECK(said(doubling(20)) == too_many);
    CHECK(said(doubling(40)) == too_many);
    CHECK(said(doubling(200)) == too_many);
}

TEST_CASE("sums of sums are shared") {
    for (const std::size_t depth : {20U, 40U, 200U})
        CHECK(said(chain("def g0(x, y) = x + y\n", "def g{0}(x, y) = g{1}(y, x + y)\n",
                         "Y[i] := g{0}(A[i], B[i])", depth)) == "");
}

TEST_CASE("top-level terms are counted one by one") {
    const auto locals = [](std::size_t depth, std::string_view op) {
        return chain("Y[i] := last where u0 = A[i]", format(", u{{0}} = u{{1}} {} u{{1}}", op),
                     ", last = u{0}", depth);
    };
    CHECK(said(locals(19, "+")) == "");
    CHECK(said(locals(22, "+")).starts_with("limit: the program has more than 1000000 terms"));
    CHECK(said(locals(200, "+")).starts_with("limit: the program has more than 1000000 terms"));
    CHECK(said(locals(200, "*")) == "");
}

TEST_CASE("long chains of definitions and of locals are understood or refused") {
    for (const std::size_t length : {300U, 3'000U, 9'000U}) {
        CAPTURE(length);
        said(chain("def g0(x) = x + 1\n", "def g{0}(x) = g{1}(x) + 1\n", "Y[i] := g{0}(A[i])",
                   length));
        said(chain("def g0(x) = x + 1\n", "def g{0}(x) = sin(((((g{1}(x))))))\n",
                   "Y[i] := g{0}(A[i])", length));
        said(chain("Y[i] := last where u0 = A[i]", ", u{0} = sin(u{1})", ", last = u{0}", length));
    }
}

TEST_CASE("statements that double are shared") {
    for (const char* op : {"+", "*", "-"})
        CHECK(said(chain("Y0[i] := A[i]\n", format("Y{{0}}[i] := Y{{1}}[i] {} Y{{1}}[i]\n", op),
                         "Z[i] := Y{0}[i]", 1000)) == "");
}

TEST_CASE("a definition or a local that uses itself is refused") {
    CHECK(said("def f(x) = g(x)\ndef g(x) = f(x)\nY[i] := f(A[i])") ==
          "name: the function `f` calls itself");
    CHECK(said("Y[i] := u where u = v, v = u + A[i]") ==
          "name: the local `u` is defined by itself");
}

}  // namespace ricci::tests
