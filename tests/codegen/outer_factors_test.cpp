// tests/codegen/outer_factors_test.cpp – constant factors of what is summed, multiplied once
#include "codegen/outer_factors.h"

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// What the sum adds, and what its result becomes; checked against the reference by the
/// interpreter.
std::string sum_of(const std::string& term, DType dtype = DType::f32) {
    Signature signature = {{"x", array({40}, dtype)}};
    if (term.find('w') != std::string::npos) signature["w"] = array({40}, dtype);
    const BoundProgram program = bound("s := sum[i](" + term + ")", signature);
    CHECK(interpreted_difference(program, signature, example_target(32)) == "");
    const codegen::Plan plan = codegen::plan(program, example_target(32));
    std::string said;
    for (const codegen::Nest& nest : plan.nests) {
        const std::string text = codegen::str(nest);
        for (const char* start : {"sum= ", "s[0] = "}) {
            const std::size_t at = text.find(start);
            if (at != std::string::npos) said += text.substr(at, text.find('\n', at) - at) + "; ";
        }
    }
    return said;
}

TEST_CASE(
    "constants that the terms of a sum of products are multiplied and divided by leave the sum") {
    CHECK(sum_of("x[i]*w[i]/8") == "sum= x[8*u + l] * w[8*u + l]; s[0] = acc[0] / 8.0; ");
    CHECK(sum_of("2*x[i]/3*w[i]*5") ==
          "sum= x[8*u + l] * w[8*u + l]; s[0] = (acc[0] * 10.0) / 3.0; ");
    CHECK(sum_of("-x[i]*w[i]*4") == "sum= -(x[8*u + l] * w[8*u + l]); s[0] = acc[0] * 4.0; ");
}

TEST_CASE("roots and powers of sizes are constants, too") {
    CHECK(sum_of("x[i]*w[i]/sqrt(size(x,0))") ==
          "sum= x[8*u + l] * w[8*u + l]; s[0] = acc[0] / 6.3245554; ");
    CHECK(sum_of("x[i]*w[i]/size(x,0)**0.5") ==
          "sum= x[8*u + l] * w[8*u + l]; s[0] = acc[0] / 6.3245554; ");
}

TEST_CASE("what could keep a sum in its range stays inside, and so do signs and what is data") {
    CHECK(sum_of("x[i]/8") == "sum= x[8*u + l] / 8.0; s[0] = acc[0]; ");
    CHECK(sum_of("x[i]*w[i]*1e-30") == "sum= x[8*u + l] * w[8*u + l] * 1e-30; s[0] = acc[0]; ");
    CHECK(sum_of("x[i]*w[i]/1e6") == "sum= (x[8*u + l] * w[8*u + l]) / 1000000.0; s[0] = acc[0]; ");
    CHECK(sum_of("x[i]/w[0]") == "sum= x[8*u + l] / w[0]; s[0] = acc[0]; ");
    CHECK(sum_of("3*x[i]", DType::i64) == "sum= 3 * x[i0 + 4*u + l]; s[0] = acc[0]; ");
}

TEST_CASE("a term that squares again and again is walked once") {
    std::string term = "x[i]/8";
    for (int i = 0; i < 6; ++i) term = "(" + term + ")**2";
    CHECK(sum_of(term) == "sum= %6 * %6; s[0] = acc[0]; ");
}

}  // namespace
}  // namespace ricci::tests
