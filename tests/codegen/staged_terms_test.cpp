// tests/codegen/staged_terms_test.cpp – dear terms of points that are written one after the other
#include "codegen/staged_terms.h"

#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// Whether lanes compute terms for points of the program.
bool has_staged_terms(const std::string& text, const Signature& signature) {
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(32)));
    return plan.find("  scratch term: ") != std::string::npos;
}

/// Of the arrays that the text reads.
Signature keyed(const std::string& text, std::int64_t count, DType dtype = DType::f32) {
    Signature signature = {{"h", array({4}, dtype)}};
    if (text.find("J[") != std::string::npos) signature["J"] = array({count}, DType::i8);
    if (text.find("x[") != std::string::npos) signature["x"] = array({count}, dtype);
    if (text.find("z[") != std::string::npos) signature["z"] = array({4}, dtype);
    return signature;
}

void check_staged(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    CHECK(has_staged_terms(text, signature));
    check_values(text, signature);
}
void check_staged(const std::string& text, std::int64_t count, DType dtype = DType::f32) {
    check_staged(text, keyed(text, count, dtype));
}
bool is_staged(const std::string& text, std::int64_t count) {
    return has_staged_terms(text, keyed(text, count));
}

}  // namespace

TEST_CASE("lanes compute the dear values of updates one by one") {
    for (const std::int64_t count : {64, 77, 1029})
        for (const std::string op : {"+=", "max=", "min="})
            check_staged("h[clamp(J[i])] " + op + " exp(x[i])", count);
    check_staged("h[clamp(J[i])] *= 1 + x[i]^2/100", 77, DType::f64);
    check_staged("h[clamp(J[i])] += x[i]/(1 + abs(x[i]))", 77, DType::f16);
    check_staged("h[clamp(J[i])] += exp(x[i] - z[clamp(J[i])])", 1029);
}
TEST_CASE("lanes compute dear places of updates one by one") {
    check_staged("h[clamp(2*J[i] + 1)] += 1", 77, DType::i32);
    check_staged("h[clamp(i32(4*x[i]))] += 1", 1029);
    check_staged("h[clamp(i32(4*x[i]))] += x[i]", 1029);
    check_staged("h[clamp(J[i]),c] += x[i,c]",
                 {{"h", array({4, 3})}, {"J", array({1029}, DType::i8)}, {"x", array({1029, 3})}});
    check_staged("h[clamp(J[n,i] + n)] += exp(x[n,i])",
                 {{"h", array({5})}, {"J", array({2, 90}, DType::i8)}, {"x", array({2, 90})}});
}
TEST_CASE("what is cheap, short, or read under a condition is computed at its point") {
    CHECK_FALSE(is_staged("h[J[i]] += x[i]", 77));
    CHECK_FALSE(is_staged("h[clamp(J[i])] += exp(x[i])", 63));
    // Beyond the condition z would be read outside.
    CHECK_FALSE(is_staged("h[pad(J[i])] += exp(z[J[i]])", 77));
    const std::string padded = "h[pad(J[i])] += exp(x[i])";
    check_values(padded, keyed(padded, 77));
}
