// tests/codegen/prefetch_streams_test.cpp – what loops over large arrays ask for ahead
#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// All nests, for a machine whose caches hold next to nothing. Checks values, too.
std::string nests(const std::string& text, const Signature& signature,
                  std::int64_t l1_bytes = 32 << 10) {
    INFO(text);
    const BoundProgram program = bound(text, signature);
    Target target = example_target(64);
    target.l1_bytes = l1_bytes;
    target.l2_bytes = 512;
    CHECK(interpreted_difference(program, signature, target) == "");
    std::string all;
    for (const codegen::Nest& nest : codegen::plan(program, target).nests) all += str(nest);
    return all;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("loops over large arrays ask for each of their streams") {
    const auto text = [](std::int64_t size) {
        return nests("y[i] := a[i]*b[i] + c",
                     {{"a", array({size})}, {"b", array({size})}, {"c", array({})}});
    };
    const std::string large = text(5000);
    CHECK(count(large, "prefetch a[i0 + 256] to L1") == 1);
    CHECK(count(large, "prefetch b[i0 + 256] to L1") == 1);
    CHECK(count(text(250), "prefetch") == 0);
}

TEST_CASE("a row that the first-level cache holds is asked for once") {
    const std::string norm =
        "m[n] := mean[i](x[n,i]); Y[n,i] := (x[n,i]-m[n])/sqrt(mean[j]((x[n,j]-m[n])^2)+1)";
    const Signature signature = {{"x", array({40, 1024})}};
    CHECK(count(nests(norm, signature), "prefetch x[") == 1);
    CHECK(count(nests(norm, signature, 2048), "prefetch x[") == 3);
    // Short rows are done sixteen at a time, in three passes.
    CHECK(count(nests(norm, {{"x", array({200, 64})}}), "prefetch x[") == 1);
}

TEST_CASE("after its last turn a loop asks for what the one around it comes to next") {
    const std::string apart = nests("s[n] := sum[i](x[n,2,i])", {{"x", array({30, 8, 784})}});
    CHECK(count(apart, ">= 784, 5488, 0)] to L1") == 1);
    const std::string together = nests("s[n] := sum[i](x[n,i])", {{"x", array({90, 784})}});
    CHECK(count(together, "to L1") == 1);
    CHECK(count(together, "select") == 0);
}

TEST_CASE("a row that every turn of the loop around reads again is not asked for") {
    const std::string text =
        nests("Y[n,i] := A[n,i]*x[i]", {{"A", array({40, 2000})}, {"x", array({2000})}});
    CHECK(count(text, "prefetch A[") == 1);
    CHECK(count(text, "prefetch x[") == 0);
}

TEST_CASE("streams run down, in steps, by squares and under conditions") {
    const Signature row = {{"x", array({6000})}};
    for (const char* text : {"y[i] := x[5999-i]", "y[i] := x[2*i]*x[2*i+1]",
                             "y[i] := x[i]+x[i+1]+x[i+2]", "y[i] := i < 3000 ? x[i] : -x[i]"})
        CHECK(count(nests(text, row), "prefetch x[") > 0);
    const Signature matrix = {{"A", array({70, 90})}};
    for (const char* text :
         {"B[j,i] := A[i,j]", "s[i] := sum[j | j <= i](A[i,j])", "s[j] := max[i](A[i,j])"})
        CHECK(count(nests(text, matrix), "prefetch A[") > 0);
}
