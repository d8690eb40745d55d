// tests/codegen/result_tile_test.cpp – row reductions of several results side by side, and in the
// order of memory
#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// For lanes along reduced axes.
bool has(const std::string& directive, const std::string& text, const Signature& signature,
         std::int64_t l2_bytes = Target().l2_bytes, Forced forced = Forced::reduced_lanes) {
    return has_directive(directive, text, signature, l2_bytes, forced);
}

constexpr const char* side_by_side = "results that share loads";

TEST_CASE("weight gradients of depthwise convolutions sum all taps side by side") {
    struct Case {
        const char* text;
        Shape x;
        Shape dY;
    };
    const Case cases[] = {
        {"dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,y+u,x+v]) where u in 0:3, v in 0:3",
         {2, 3, 21, 23},
         {2, 3, 19, 21}},
        // One image, taps and rows apart, taps that fill no tile, a border that is not there.
        {"dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,y+2*u,x+3*v]) where u in 0:3, v in 0:2",
         {1, 4, 21, 24},
         {1, 4, 17, 21}},
        {"dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,2*y+u,x+v]) where u in 0:2, v in 0:5",
         {2, 3, 20, 38},
         {2, 3, 10, 34}},
        {"dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,y+u,x+v]) where u in 0:7, v in 0:7",
         {2, 2, 19, 25},
         {2, 2, 13, 19}},
        {"dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,pad(y+u-1,1),pad(x+v-1,1)])"
         " where u in 0:3, v in 0:3",
         {3, 2, 17, 18},
         {3, 2, 17, 18}},
    };
    for (const Case& each : cases)
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
            CHECK(has(side_by_side, each.text,
                      {{"X", array(each.x, dtype)}, {"dY", array(each.dY, dtype)}}) == 1);
}

TEST_CASE("other bodies and reducers do so where results share loads") {
    const Signature rows = {{"A", array({6, 5, 37})}, {"B", array({6, 41})}};
    CHECK(has(side_by_side, "S[n,r] := sum[k](A[n,0,k]*B[n,k+r]) where r in 0:5", rows));
    CHECK(has(side_by_side, "S[n,r] := max[k](A[n,1,k]+B[n,k+r]) where r in 0:5", rows));
    CHECK(has(side_by_side, "S[n,r] := sum[k]((A[n,2,k]-B[n,k+r])^2) where r in 0:5", rows));
    // A factor that does not move with the lanes may be infinite: 0 times it is no 0.
    CHECK(has(side_by_side, "S[n,r] := sum[k](A[n,3,k]/A[n,0,r]*B[n,k+r]) where r in 0:5", rows));
    CHECK(has(side_by_side, "S[n,r] := 2*sum[k](A[n,0,k]*B[n,k+r])+B[n,r] where r in 0:5", rows));
    // Places go one by one.
    CHECK(!has(side_by_side, "S[n,r] := argmax[k](A[n,1,k]+B[n,k+r]) where r in 0:5", rows));
    CHECK(!has(side_by_side, "S[n] := sum[k](A[n,0,k]*B[n,k+1])", rows));
}

TEST_CASE("a few filters against one image are tiles of results") {
    CHECK(has(side_by_side,
              "dW[o,u,v] := sum[n,y,x](dY[n,o,y,x]*X[n,y+u,x+v]) where u in 0:5, v in 0:5",
              {{"X", array({7, 28, 28})}, {"dY", array({7, 20, 24, 24})}}, Target().l2_bytes,
              Forced::nothing));
}

TEST_CASE("reductions in short pieces from far places go in the order of memory") {
    constexpr std::int64_t small = 1 << 10;
    const auto partials = [&](const std::string& text, const Signature& signature) {
        return has("_partial: row reduction", text, signature, small);
    };
    const ArgumentSpec X = array({3, 5, 19, 19});
    const std::string taps = " where u in 0:3, v in 0:3";
    CHECK(partials("dW[c,u,v] := sum[n,y,x](dY[n,c,y,x]*X[n,c,y+u,x+v])" + taps,
                   {{"X", X}, {"dY", array({3, 5, 17, 17})}}));
    CHECK(partials("s[c] := sum[n,y,x](X[n,c,y,x]^2)", {{"X", X}}));
    CHECK(partials("s[c] := prod[n,y,x](X[n,c,y,x])", {{"X", X}}));
    // Beside a fast third-level cache of smaller arrays, too.
    const auto has_partials = [&](bool has_fast_l3) {
        Target target = example_target(64);
        target.l2_bytes = 6 << 10;
        target.has_fast_l3 = has_fast_l3;
        return str(codegen::plan(bound("s[c] := sum[n,y,x](X[n,c,y,x]^2)", {{"X", X}}), target))
                   .find("_partial: row reduction") != std::string::npos;
    };
    CHECK(has_partials(true));
    CHECK_FALSE(has_partials(false));
    // In order as it is; of places; too short.
    CHECK(!partials("s[n,c] := sum[y,x](X[n,c,y,x]^2)", {{"X", X}}));
    CHECK(!partials("s[c] := argmax[n](sum[y,x](X[n,c,y,x]^2))", {{"X", X}}));
    CHECK(!partials("s[c] := sum[n,x](X[n,c,0,x]^2)", {{"X", X}}));
}

TEST_CASE("bounds of the loops that are run decide which results may be summed side by side") {
    const Signature signature = {{"W", array({4, 2})}, {"dY", array({11})}};
    const BoundProgram program = bound(
        "dX[c,t] := sum[x in 0:11, s | c <= x+2 && t == 2*s+5*x-4](dY[x]*W[c,s]) "
        "where t in 0:48",
        signature);
    CHECK(compiled_difference(program, signature) == "");
    for (const int bytes : {16, 32, 64})
        CHECK(interpreted_difference(program, signature, example_target(bytes)) == "");
}

TEST_CASE("results whose points compute much are summed one after the other") {
    const Signature signature = {{"x", array({32})}, {"y", array({300})}, {"b", array({300})}};
    CHECK(has(side_by_side, "s[i] := sum[j]((x[i]-y[j])^2*b[j])", signature));
    CHECK_FALSE(has(side_by_side, "s[i] := sum[j](exp(-(x[i]-y[j])^2)*b[j])", signature));
}

TEST_CASE("lanes that would stand on pages of their own run along the nearer axis") {
    const auto is_by_row = [](std::int64_t size) {
        return has_directive("row reduction", "y[b] := X[b,i,i]", {{"X", array({100, size, size})}},
                             Target().l2_bytes, Forced::nothing);
    };
    CHECK(is_by_row(64));
    CHECK_FALSE(is_by_row(20));
}

TEST_CASE("results whose number has no divisors are summed in whole tiles and the rest") {
    const auto has_rest = [](std::int64_t taps) {
        const std::string text = "dw[r] := dY[i]*x[i+r]";
        const Signature signature = {{"dY", array({3000})}, {"x", array({2999 + taps})}};
        const std::string program = text + " where r in 0:" + std::to_string(taps);
        CAPTURE(taps);
        check_values(program, signature);
        return str(codegen::plan(bound(program, signature), example_target(64))).find("_rest") !=
               std::string::npos;
    };
    for (const std::int64_t taps : {29, 31, 37, 62}) CHECK(has_rest(taps));
    for (const std::int64_t taps : {7, 28, 30, 32}) CHECK_FALSE(has_rest(taps));
}

TEST_CASE("sums over rows and the few elements of a group are sums of columns first") {
    const auto has_columns = [](const std::string& text, const Signature& signature) {
        CAPTURE(text);
        check_values(text, signature);
        const std::string plan = str(codegen::plan(bound(text, signature), example_target(64)));
        return plan.find("e_chunk") != std::string::npos;
    };
    const Signature images = {{"X", array({2, 40, 6, 8})}};
    CHECK(has_columns("m[n,a] := X[n,y,a,e]", images));
    CHECK(has_columns("m[n,a] := X[n,y,a,e]*g[a,e]",
                      {{"X", array({2, 40, 6, 8})}, {"g", array({6, 8})}}));
    CHECK(has_columns("m[n,a] := max[y,e](X[n,y,a,e])", images));
    // What is of a group alone, few rows, and whole vectors.
    CHECK_FALSE(has_columns("m[n,a] := sum[y,e](X[n,y,a,e]-h[a])",
                            {{"X", array({2, 40, 6, 8})}, {"h", array({6})}}));
    CHECK_FALSE(has_columns("m[n,a] := X[n,y,a,e]", {{"X", array({40, 3, 6, 8})}}));
    CHECK_FALSE(has_columns("m[n,a] := X[n,y,a,e]", {{"X", array({2, 40, 6, 32})}}));
}

}  // namespace
}  // namespace ricci::tests
