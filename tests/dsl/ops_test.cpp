// tests/dsl/ops_test.cpp – the table of operations
#include "dsl/ops.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace ricci;

TEST_CASE("each operation is in the row of its number") {
    for (const OpInfo& row : all_ops()) {
        CAPTURE(row.name);
        CHECK(&info(row.op) == &row);
    }
    CHECK(all_ops().size() == std::size_t(Op::angle) + 1);
}

TEST_CASE("no two operations have one name and arity") {
    std::set<std::pair<std::string_view, int>> seen;
    for (const OpInfo& row : all_ops()) {
        CAPTURE(row.name);
        CHECK(seen.emplace(row.name, row.min_arity).second);
    }
}

TEST_CASE("arities and sample intervals are sensible") {
    for (const OpInfo& row : all_ops()) {
        CAPTURE(row.name);
        CHECK(row.min_arity >= 1);
        CHECK((row.max_arity == -1 || row.max_arity >= row.min_arity));
        CHECK(row.sample_low < row.sample_high);
    }
}

TEST_CASE("functions are found by name, operators are not") {
    REQUIRE(find_function("exp") != nullptr);
    CHECK(find_function("exp")->op == Op::exp);
    CHECK(find_function("pow")->op == Op::pow);
    CHECK(find_function("select")->op == Op::select);
    CHECK(find_function("max")->op == Op::max);
    CHECK(find_function("+") == nullptr);
    CHECK(find_function("sum") == nullptr);
    CHECK(find_function("pad") == nullptr);
    CHECK(find_function("") == nullptr);
}

TEST_CASE("all functions of the language are there") {
    for (const std::string_view name :
         {"exp",   "expm1",  "log",        "log1p", "log2",  "log10", "sqrt",    "rsqrt",
          "cbrt",  "sin",    "cos",        "tan",   "asin",  "acos",  "atan",    "atan2",
          "sinh",  "cosh",   "tanh",       "asinh", "acosh", "atanh", "erf",     "erfc",
          "gamma", "lgamma", "digamma",    "abs",   "abs2",  "sign",  "sigmoid", "softplus",
          "relu",  "silu",   "leaky_relu", "gelu",  "floor", "ceil",  "round",   "trunc",
          "min",   "max",    "hypot",      "pow",   "fma",   "clamp", "select",  "isnan",
          "isinf", "conj",   "isfinite",   "real",  "imag",  "angle"}) {
        CAPTURE(name);
        CHECK(find_function(name) != nullptr);
    }
}

TEST_CASE("reducers and assignments have names") {
    CHECK(name(Reducer::logsumexp) == "logsumexp");
    CHECK(reducer_from_name("argmin") == Reducer::argmin);
    CHECK(reducer_from_name("norm") == Reducer::norm);
    CHECK_FALSE(reducer_from_name("exp").has_value());
    CHECK(name(Assign::define) == ":=");
    CHECK(name(Assign::min) == "min=");
}
