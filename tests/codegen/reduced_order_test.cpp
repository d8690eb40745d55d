// tests/codegen/reduced_order_test.cpp – loops that come to few points in vain
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

TEST_CASE("turns of an axis are outside of the windows that they leave") {
    const Program program =
        grad::gradient(parse_program("Y[w,v,i,j,c] := X[(4*w+i+2)%28,(4*v+j+2)%28,c] "
                                     "where w in 0:7, v in 0:7, i in 0:4, j in 0:4"),
                       "X");
    const Signature signature = {{"X", array({28, 28, 20})}, {"dY", array({7, 7, 4, 4, 20})}};
    const BoundProgram gradient = ricci::bind(canonicalise(program), signature);
    const std::string plan = str(codegen::plan(gradient, example_target(64)));
    const std::size_t turn = plan.find("for m in");
    const std::size_t window = plan.find("for w in");
    CHECK_MESSAGE(turn < window, plan);
    CHECK(window != std::string::npos);
    for (const int vector_bytes : {64, 32})
        CHECK(interpreted_difference(gradient, signature, example_target(vector_bytes)) == "");
    CHECK(compiled_difference(gradient, signature) == "");
}

TEST_CASE("reduced axes whose loops have a point in each turn keep their order") {
    const Signature signature = {{"X", array({40, 40, 20})}};
    const std::string text =
        "Y[t,c] := sum[a,b | a <= t && b <= a](X[a,b,c]) where t in 0:40, a in 0:40, b in 0:40";
    const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
    CHECK_MESSAGE(plan.find("for a in") < plan.find("for b in"), plan);
    check_values(text, signature);
}
