// tests/codegen/side_by_side_test.cpp – points whose windows overlap share what they load
#include <string>

#include <doctest/doctest.h>

#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// In lanes over a free axis. Checks values, too.
bool has_windows(const std::string& text, const Signature& signature) {
    return has_directive("points whose windows share loads", text, signature, Target().l2_bytes,
                         Forced::free_lanes);
}

}  // namespace

TEST_CASE("windows that overlap share loads, forwards and backwards") {
    const ArgumentSpec x = array({3, 2, 14, 37});
    CHECK(
        has_windows("Y[n,c,y,x] := X[n,c,y+u,x+v]*W[c,u,v]", {{"X", x}, {"W", array({2, 3, 5})}}));
    CHECK(has_windows("Y[n,c,y,x] := max[u in 0:3, v in 0:2](X[n,c,y+u,x+v])", {{"X", x}}));
    CHECK(has_windows("Y[n,c,y,x] := prod[u in 0:3](X[n,c,y+u,2*x])", {{"X", x}}));
    CHECK(has_windows("Y[n,c,y,x] := X[n,c,2*y+2*u,x+v]*W[c,u,v]",
                      {{"X", x}, {"W", array({2, 3, 5})}}));
    CHECK(has_windows("Y[y,x] := sum[u in 0:4](X[9-y-u,x]^2*w[u]) where y in 0:6",
                      {{"X", array({12, 50}, DType::f64)}, {"w", array({4}, DType::f64)}}));
    // Two operands move with the window.
    CHECK(has_windows("Y[y,x] := sum[u](abs(X[y+u,x]-Z[x,y+u+1])*w[u]) where y in 0:8",
                      {{"X", array({12, 40})}, {"Z", array({40, 13})}, {"w", array({4})}}));
}

TEST_CASE("gradients whose windows overlap add each row's own taps, under masks of lanes") {
    const auto gradient = [](int taps, int places, int channels, std::int64_t width,
                             DType dtype = DType::f32) {
        const std::string text =
            "dX[n,t,p] := sum[o,u,v | t-u >= 0 && t-u < size(dY,2) && p-v >= 0 && "
            "p-v < size(dY,3)](dY[n,o,t-u,p-v]*W[o,u,v]) where t in 0:size(dY,2)+size(W,1)-1, "
            "p in 0:size(dY,3)+size(W,2)-1";
        return has_windows(text, {{"dY", array({2, channels, places, width}, dtype)},
                                  {"W", array({channels, taps, taps}, dtype)}});
    };
    CHECK(gradient(5, 24, 5, 24));
    CHECK(gradient(3, 12, 7, 60));
    CHECK(gradient(3, 12, 7, 19, DType::f64));
    CHECK(gradient(2, 13, 4, 100));
    CHECK(gradient(3, 12, 2, 60));
    // A factor that goes by the window, too, and numbers of rows and points.
    const std::string taps =
        "sum[o,u,v | t-u >= 0 && t-u < 12 && p-v >= 0 && p-v < 60](dY[o,t-u,p-v]*W[o,u,v]";
    const Signature signature = {
        {"dY", array({7, 12, 60})}, {"W", array({7, 3, 3})}, {"s", array({12})}};
    const std::string ranges = " where t in 0:14, p in 0:62, u in 0:3, v in 0:3";
    CHECK(has_windows("dX[t,p] := " + taps + "*s[t-u])" + ranges, signature));
    CHECK(has_windows("dX[t,p] := " + taps + "*(t+2*u)*s[u])" + ranges, signature));
    // A prime number of rows.
    CHECK_FALSE(gradient(5, 25, 5, 24));
}

TEST_CASE("windows some points apart share loads, if they overlap enough") {
    const ArgumentSpec x = array({2, 3, 24, 75});
    const Signature of_five = {{"X", x}, {"W", array({3, 5, 5})}};
    CHECK(has_windows("Y[n,c,y,x] := X[n,c,2*y+u,2*x+v]*W[c,u,v] where y in 0:10", of_five));
    CHECK(has_windows("Y[n,c,y,x] := X[n,c,18-2*y+u,x+v]*W[c,u,v] where y in 0:10", of_five));
    CHECK(has_windows("Y[n,c,y,x] := X[n,c,3*y+u,x]*W[c,u,v] where y in 0:6",
                      {{"X", x}, {"W", array({3, 7, 2})}}));
    CHECK_FALSE(has_windows("Y[n,c,y,x] := X[n,c,3*y+u,x]*W[c,u,v] where y in 0:6",
                            {{"X", x}, {"W", array({3, 3, 2})}}));
}

TEST_CASE("windows over padded arrays share what is read inside, and the numbers around it") {
    const ArgumentSpec x = array({2, 3, 14, 37});
    const Signature of_three = {{"X", x}, {"W", array({3, 3, 3})}};
    CHECK(
        has_windows("Y[n,c,y,x] := X[n,c,pad(y+u-1),pad(x+v-1)]*W[c,u,v] "
                    "where y in 0:14, x in 0:37",
                    of_three));
    CHECK(has_windows("Y[n,c,y,x] := X[n,c,pad(y+u-1,value=2),x]*W[c,u,v] where y in 0:14",
                      of_three));
    CHECK(has_windows("Y[n,c,y,x] := X[n,c,y+u,pad(x+v-1)]*W[c,u,v] where x in 0:37", of_three));
    CHECK(
        has_windows("Y[n,c,y,x] := max[u in 0:3,v in 0:3](X[n,c,pad(y+u-1,value=-inf),"
                    "pad(x+v-1,value=-inf)]) where y in 0:14, x in 0:37",
                    {{"X", x}}));
    CHECK(
        has_windows("Y[n,c,y,x] := X[n,c,pad(2*y+u-2),pad(2*x+v-2)]*W[c,u,v] "
                    "where y in 0:6, x in 0:19",
                    {{"X", x}, {"W", array({3, 5, 5})}}));
    // Two choices of one element.
    CHECK(has_windows("Y[y,x] := (X[pad(y+u-1),x] + X[pad(y+u-1,value=1),x])*w[u] where y in 0:14",
                      {{"X", array({14, 37})}, {"w", array({3})}}));
}

TEST_CASE("windows of other conditions, of chosen, far or dear operands are not shared") {
    const ArgumentSpec x = array({14, 37});
    const Signature wide = {{"X", array({14, 40})}};
    CHECK(has_windows("Y[y,x] := sum[u in 0:3, v in 0:4](abs(X[y+u,x+v]))", wide));
    CHECK_FALSE(has_windows("Y[y,x] := sum[u in 0:3, v in 0:4](exp(X[y+u,x+v]))", wide));
    CHECK_FALSE(has_windows("Y[y,x] := sum[u in 0:3 | u <= x](X[y+u,x])", {{"X", x}}));
    CHECK_FALSE(has_windows("Y[y,x] := sum[u in 0:3 | y >= 2*u](X[y+u,x])", {{"X", x}}));
    CHECK_FALSE(
        has_windows("Y[y,x] := sum[u in 0:3](select(X[y+u,x] > 0, X[y+u,x], 0))", {{"X", x}}));
    CHECK_FALSE(has_windows("Y[y,x] := argmax[u in 0:3](X[y+u,x])", {{"X", x}}));
    CHECK_FALSE(has_windows("Y[y,x] := sum[u in 0:3](X[2*y+u,x]) where y in 0:6", {{"X", x}}));
    CHECK_FALSE(has_windows("Y[y,x] := sum[u in 0:3](X[wrap(J[y+u]),x])",
                            {{"X", x}, {"J", array({14}, DType::i64)}}));
}

TEST_CASE("a long sum is read once for more points side by side") {
    // Eight vectors of each of three rows: the gradient of a kernel over channels that stand last.
    CHECK(has_directive("unroll r 3", "dW[r,s,c] := X[y+r,x+s,c]*dY[y,x,c]",
                        {{"X", array({20, 20, 128})}, {"dY", array({18, 18, 128})}},
                        Target().l2_bytes, Forced::free_lanes));
}

TEST_CASE("windows that conditions of results leave empty are empty") {
    const Signature signature = {{"B", array({16, 80})}, {"V", array({4, 16, 80})}};
    for (const std::string reducer : {"sum", "max", "prod"})
        for (const char* text : {"Y[t,u] := %[r in 0:7 | u >= 100](B[t+r,u])",
                                 "Y[t,u] := %[r in 0:7 | u >= 3](B[t+r,u])",
                                 "Y[t,u] := %[r in 0:7 | u < 70](B[t+r,u])",
                                 "Y[t,u] := %[r in 0:7 | t >= 3](B[t+r,u])",
                                 "Y[z,t,u] := %[r in 0:7 | z >= 2 && u >= 3](V[z,t+r,u])",
                                 "Y[z,t,u] := %[r in 0:7 | z == 2](V[z,t+r,u])"}) {
            std::string with = text;
            with.replace(with.find('%'), 1, reducer);
            check_values(with, named(with, signature));
        }
}

}  // namespace ricci::tests
