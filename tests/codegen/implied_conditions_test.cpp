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
    // Three times this leaves 64 bits, and is negative.
    CHECK(left_of("4000000000000000000*j + i > -5") != "");
    CHECK(left_of("2000000000000000000*j + i > -5") == "");
}

TEST_CASE("extremes do not run over indices that only say which of many points count") {
    const auto indices = [](const std::string& text) {
        Signature signature;
        signature["x"].shape = {5, 4};
        if (text.find("t[") != std::string::npos) {
            signature["t"].dtype = DType::i64;
            signature["t"].shape = {5};
        }
        const std::string all = str(codegen::without_implied_conditions(
            ricci::bind(canonicalise(parse_program(text)), signature)));
        const std::size_t begin = all.find("[i");
        return all.substr(begin, all.find("](") - begin);
    };
    CHECK(indices("m := max[i,k in 0:9 | k != t[i]](x[i,0])") == "[i.0 in 0:5");
    CHECK(indices("m := min[i,k in 0:9 | t[i] != k && t[i] > 2](x[i,0])") ==
          "[i.0 in 0:5 | t.0[i.0] > 2");
    CHECK(indices("m := min[i,k in 0:9](x[i,0])") == "[i.0 in 0:5");
    // One value may be the one that is left out; sums count points; values may move.
    CHECK(indices("m := max[i,k in 0:1 | k != t[i]](x[i,0])").find("k.1") != std::string::npos);
    CHECK(indices("m := max[i,k in 0:9 | k < t[i]](x[i,0])").find("k.1") != std::string::npos);
    CHECK(indices("m := max[i,k in 0:9 | k != t[i] && k != 2](x[i,0])").find("k.1") !=
          std::string::npos);
    CHECK(indices("m := max[i,k | k != t[i]](x[i,k])").find("k.1") != std::string::npos);
    CHECK(indices("m := sum[i,k in 0:9 | k != t[i]](x[i,0])").find("k.1") != std::string::npos);
}

}  // namespace
}  // namespace ricci::tests
