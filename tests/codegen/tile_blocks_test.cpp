// tests/codegen/tile_blocks_test.cpp – how many tiles of a contraction a task runs over
#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/schedule.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;

namespace {

/// What the last kernel's schedule says of its tile and its blocks.
std::string blocks(const std::string& text, const Signature& signature) {
    CAPTURE(text);
    const BoundProgram program = tests::bound(text, signature);
    const codegen::Plan plan = codegen::plan(program, tests::example_target(64));
    std::string lines;
    for (const codegen::Directive& each : plan.schedules.back().directives)
        if (each.verb == "tile" || each.verb == "block")
            lines += format("{} {}x{}; ", each.verb, each.numbers.at(0),
                            each.numbers.size() > 1 ? each.numbers.at(1) : 0);
    return lines;
}

Signature product(std::int64_t m, std::int64_t k, std::int64_t n) {
    return {{"A", tests::array({m, k})}, {"B", tests::array({k, n})}};
}

}  // namespace

TEST_CASE("the rows of a block write to at most 32 pages where each has pages of its own") {
    constexpr const char* text = "C[i,j] := A[i,k]*B[k,j]";
    CHECK(blocks(text, product(4096, 64, 4096)) == "tile 8x0; tile 3x16; block 4x18; ");
    // Rows of 256 bytes: 16 of them are a page.
    CHECK(blocks(text, product(65536, 64, 64)) == "tile 14x0; tile 2x16; block 36x2; ");
}

TEST_CASE("columns that share elements count once for what a cache holds") {
    CHECK(blocks("Y[n,o,y,x] := X[n,c,y+u,x+v]*W[o,c,u,v]",
                 {{"X", tests::array({8, 64, 58, 58})}, {"W", tests::array({64, 64, 3, 3})}}) ==
          "tile 8x0; tile 3x16; block 4x7; ");
    CHECK(blocks("Y[n,o,y,x] := X[n,k,y,x]*W[o,k]",
                 {{"X", tests::array({8, 576, 56, 56})}, {"W", tests::array({64, 576})}}) ==
          "tile 8x0; tile 3x16; block 4x2; ");
}

TEST_CASE("a small operand in place hides no large panel beside it") {
    CHECK(blocks("C[i,j] := abs(A[i,k,l]-B[k,l,j])*abs(A[i,k,l]-D[k,j])",
                 {{"A", tests::array({2048, 64, 32})},
                  {"B", tests::array({64, 32, 2048})},
                  {"D", tests::array({64, 2048})}}) == "tile 5x0; tile 4x16; block 6x1; ");
}
