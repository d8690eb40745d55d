// tests/codegen/implied_conditions_test.cpp – conditions that hold at every point, dropped
#include "codegen/implied_conditions.h"

#include <doctest/doctest.h>

#include "dsl/canonical.h"

namespace ricci::tests {
namespace {

/// What is left of the condition of `y[t,i] := sum[j | ...](x[i,j])`, t in 0:1, i in 0:5, j in 0:4.
std::string left_of(const std::string& condition) {
    Signature signature;
    signature["x"].shape = {5, 4};
    const std::string text =
        "y[t,i] := sum[j in 0:4 | " + condition + "](x[i,j]) where t in 0:1, i in 0:5";
    const std::string all = str(codegen::without_implied_conditions(
        ricci::bind(canonicalise(parse_program(text)), signature)));
    const std::size_t bar = all.find(" | ");
    return bar == std::string::npos ? "" : all.substr(bar + 3, all.find("](") - bar - 3);
}

TEST_CASE("what ranges imply is no condition") {
    CHECK(left_of("t == 0") == "");
    CHECK(left_of("i+j >= 0 && i+j < 8") == "");
    CHECK(left_of("2*i <= 8 && 3 >= j") == "");
    CHECK(left_of("t == 0 && i+j < 7") == "i.1+j.2 < 7");
}

TEST_CASE("what some point does not satisfy, and what data decides, stays") {
    CHECK(left_of("i+j < 7") == "i.1+j.2 < 7");
    CHECK(left_of("i == 0") == "i.1 == 0");
    CHECK(left_of("i != 7") == "i.1 != 7");
    CHECK(left_of("x[i,j] > 0") == "x.0[i.1,j.2] > 0.0");
}

}  // namespace
}  // namespace ricci::tests
