// tests/codegen/tile_prefetch_test.cpp – what tiles of contractions ask for ahead
#include "codegen/tile_prefetch.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The loops of the last step, for vectors of 64 bytes. Checks values, too.
std::string last_nest(const std::string& text, const Signature& signature,
                      const Target& target = example_target(64)) {
    INFO(text);
    const BoundProgram program = bound(text, signature);
    CHECK(interpreted_difference(program, signature, target) == "");
    CHECK(compiled_difference(program, signature) == "");
    return str(codegen::plan(program, target).nests.back());
}

bool has(const std::string& nest, const std::string& text) {
    return nest.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("tiles ask for lines ahead where the first-level cache does not keep them") {
    const auto product = [](std::int64_t rows, std::int64_t depth,
                            const char* text = "C[i,j] := A[k,i]*B[k,j]") {
        return last_nest(text, {{"A", array({depth, rows})}, {"B", array({depth, 96})}});
    };
    const std::string in_place = product(64, 400);
    CHECK(has(in_place, "prefetch B[96*k + 48*column_tile + 16*u + 768] to L1"));
    CHECK(has(in_place, "prefetch A[64*k + 8*row_tile + 512] to L1"));
    const std::string packed = product(37, 400, "C[i,j] := sum[k]((A[k,i]-A[0,i])*B[k,j])");
    CHECK(has(packed, "prefetch C_rows[13*k + 5200*row_tile + 39] to L1"));
    CHECK(!has(product(64, 60), "to L1"));
}

TEST_CASE("panels are asked for ahead with long vectors only") {
    const auto nest = [](int vector_bytes) {
        return last_nest("C[i,j] := sum[k]((A[k,i]-A[0,i])*B[k,j])",
                         {{"A", array({400, 37})}, {"B", array({400, 96})}},
                         example_target(vector_bytes));
    };
    CHECK(has(nest(64), "prefetch C_rows["));
    CHECK(!has(nest(32), "prefetch C_rows["));
}

TEST_CASE("all lines are asked for that columns of a far array reach from where they start") {
    Target target = example_target(32);
    target.l2_bytes = 1024;
    const auto nest = [&](const char* taps) {
        return last_nest(format("Z[c,p] := sum[o,x in 0:{0} | p-x >= 0 && p-x < size(D,1)]"
                                "(D[o,p-x]*W[o,c,x]) where p in 0:96",
                                taps),
                         {{"D", array({32, 96})}, {"W", array({32, 3, 3})}}, target);
    };
    // Tiles of 24 columns start at a line or in the middle of one; less a tap they start anywhere.
    const std::string anywhere = nest("3");
    CHECK(has(anywhere,
              "unroll u in 0..3\n"
              "                prefetch D[96*o - x + 24*column_tile + 16*u + 24] to L2"));
    const std::string at_halves = nest("1");
    CHECK(has(at_halves,
              "unroll u in 0..2\n"
              "            prefetch D[96*o + 24*column_tile + 16*u + 24] to L2"));
}

TEST_CASE("taps side by side ask once for the lines of a channel to come") {
    const std::string nest =
        last_nest("Y[n,o,y,x] := X[n,c,y+r,x+s]*W[o,c,r,s]",
                  {{"X", array({1, 64, 12, 40})}, {"W", array({16, 64, 3, 3})}});
    const auto rows = nest.find("for r in");
    const auto request = nest.find("prefetch X[");
    const auto taps = nest.find("for s in");
    REQUIRE(request != std::string::npos);
    CHECK(rows < request);
    CHECK(request < taps);
    CHECK(has(nest, "+ 960] to L1"));  // of 12*40 elements a channel: two of 9 points each
}

TEST_CASE("a line of columns that few rows use is not asked for") {
    CHECK(!has(
        last_nest("C[i,j] := A[i,k]*B[k,j]", {{"A", array({2, 2000})}, {"B", array({2000, 96})}}),
        "to L1"));
}

TEST_CASE("products of a batch ask for what the next one reads where it stands") {
    const auto nest = [](std::int64_t l2_bytes) {
        Target target = example_target(64);
        target.l2_bytes = l2_bytes;
        return last_nest("C[b,i,j] := A[b,k,i]*B[b,k,j]",
                         {{"A", array({100, 32, 16})}, {"B", array({100, 32, 32})}}, target);
    };
    const std::string near = nest(16 << 10);
    INFO(near);
    CHECK(has(near, "prefetch B[1024*b + 32*k + 16*u + 1024] to L2"));
    CHECK(has(near, "prefetch A[512*b + 16*k + 8*row_tile + 512] to L2"));
    CHECK_FALSE(has(nest(8 << 10), "+ 512] to L2"));  // it does not hold two products
}

TEST_CASE("long sums of products in place are cut into chunks of which a cache holds two") {
    const auto has_chunks = [](std::int64_t depth, const std::string& chunk) {
        Target target = example_target(64);
        target.l2_bytes = 256 << 10;
        const BoundProgram program = bound("C[i,j] := A[k,i]*B[k,j]",
                                           {{"A", array({depth, 16})}, {"B", array({depth, 32})}});
        return has(str(codegen::plan(program, target)), chunk);
    };
    // 48 numbers for each point: 96 KiB.
    CHECK(has_chunks(8192, "for k in 0..512\n"));
    CHECK(has_chunks(1 << 16, "for k in 0..512\n"));
    CHECK(has_chunks(1000, "for k in 0..1000\n"));  // the cache holds it whole
}
