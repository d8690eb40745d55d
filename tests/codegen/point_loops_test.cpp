// tests/codegen/point_loops_test.cpp – which reduced points of a tile are written out
#include "codegen/point_loops.h"

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

TEST_CASE("points at which rows of a tile are read again are not written out") {
    const Target target = example_target(32);
    const auto nest = [&](const char* text) {
        INFO(text);
        const Signature signature = {{"X", array({16, 30})}, {"W", array({16, 2, 16})}};
        const BoundProgram program = bound(text, signature);
        CHECK(interpreted_difference(program, signature, target) == "");
        CHECK(compiled_difference(program, signature) == "");
        return str(codegen::plan(program, target).nests.back());
    };
    const std::string shared = nest("Y[p,c] := X[o,p+x]*W[o,x,c]");
    CHECK(shared.find("        for x in 0..2\n") != std::string::npos);
    const std::string apart = nest("Y[p,c] := X[o,2*p+x]*W[o,x,c]");
    CHECK(apart.find("        unroll x in 0..2\n") != std::string::npos);
}
