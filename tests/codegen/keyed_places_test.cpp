// tests/codegen/keyed_places_test.cpp – places of the extreme elements of each key
#include "codegen/keyed_places.h"

#include <string>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The gradient of a maximum over the points of each key by x, checked.
BoundProgram gradient(const std::string& forward, const Signature& signature) {
    const Program program = grad::gradient(parse_program(forward), "x");
    const BoundProgram bound = ricci::bind(canonicalise(program), signature);
    for (const int vector_bytes : {16, 64})
        CHECK(interpreted_difference(bound, signature, example_target(vector_bytes)) == "");
    CHECK(compiled_difference(bound, signature) == "");
    return bound;
}

bool has_argmax(const BoundProgram& program) {
    return str(codegen::with_keyed_places(program)).find("argm") != std::string::npos;
}

const ArgumentSpec keys = array({90}, DType::i8);

}  // namespace

TEST_CASE("the places of the extremes of many keys are the first at which these stand") {
    const std::string range = " where g in 0:20";
    CHECK(!has_argmax(gradient("M[g] := max[e | s[e] == g](x[e])" + range,
                               {{"s", keys}, {"x", array({90})}, {"dM", array({20})}})));
    CHECK(!has_argmax(gradient("M[g,d] := min[e | s[e] == g](x[e,d])" + range,
                               {{"s", keys}, {"x", array({90, 5})}, {"dM", array({20, 5})}})));
    CHECK(!has_argmax(
        gradient("M[g] := max[e | s[e] == g && e % 3 > 0](x[e])" + range,
                 {{"s", keys}, {"x", array({90}, DType::f16)}, {"dM", array({20}, DType::f16)}})));
}

TEST_CASE("few keys, and values that would be computed again, are searched") {
    CHECK(has_argmax(gradient("M[g] := max[e | s[e] == g](x[e]) where g in 0:8",
                              {{"s", keys}, {"x", array({90})}, {"dM", array({8})}})));
    CHECK(has_argmax(gradient("M[g] := max[e | s[e] == g](x[e]*x[e]) where g in 0:20",
                              {{"s", keys}, {"x", array({90})}, {"dM", array({20})}})));
}
