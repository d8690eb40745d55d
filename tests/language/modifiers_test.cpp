// tests/language/modifiers_test.cpp – subscripts that may lie outside: pad, clamp, wrap, reflect
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "tests/language/run_program.h"

namespace ricci::tests {
namespace {

const Array& four() {
    static const Array a = reals({1, 2, 3, 4});
    return a;
}

TEST_CASE("padding reads 0 outside, and lets an index run over it") {
    CHECK(run("Y[i+_] := a[pad(i,1,2)]", {{"a", four()}}) == "[0, 1, 2, 3, 4, 0, 0]");
    CHECK(run("Y[i+_] := a[pad(i,1)]", {{"a", four()}}) == "[0, 1, 2, 3, 4, 0]");
    CHECK(run("Y[i] := a[pad(i+k-1,1)]*f[k]", {{"a", four()}, {"f", reals({1, 1, 1})}}) ==
          "[3, 6, 9, 7]");
    CHECK(run("Y[i] := a[pad(2*i+k-2,2,1)]*f[k]", {{"a", four()}, {"f", reals({1, 1, 1})}}) ==
          "[1, 6, 7]");
    CHECK(run("Y[i+_] := a[pad(i,$n)]", {{"a", four()}, {"n", 1}}) == "[0, 1, 2, 3, 4, 0]");
    CHECK(run("Y[i+_] := a[pad(i,size(f,0)-1,0)] + 0*f[0]",
              {{"a", four()}, {"f", reals({1, 1, 1})}}) == "[0, 0, 1, 2, 3, 4]");
    CHECK(run("Y[i] := a[pad(i//2-1,1)]", {{"a", four()}}) ==
          "[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0]");
}

TEST_CASE("what padding reads may be given") {
    CHECK(run("Y[i+_] := a[pad(i,1,1,-inf)]", {{"a", four()}}) ==
          "[-inf,    1,    2,    3,    4, -inf]");
    CHECK(run("Y[i+_] := a[pad(i,1,value=7)]", {{"a", four()}}) == "[7, 1, 2, 3, 4, 7]");
    CHECK(run("Y[i+_] := a[pad(i,1,1,$c)]", {{"a", four()}, {"c", 7}}) == "[7, 1, 2, 3, 4, 7]");
    CHECK(run("Y[i+_] := a[pad(i,1,1,c)]", {{"a", four()}, {"c", 7}}) == "[7, 1, 2, 3, 4, 7]");
    CHECK(run("Y[i] := a[pad(i-1,1,1,c*i)]", {{"a", four()}, {"c", 7}}) ==
          "[ 0,  1,  2,  3,  4, 35]");
    CHECK(run("Y[i] := a[pad(i-2,value=b[i])] where i in 0:6", {{"a", four()}, {"b", ramp({6})}}) ==
          "[0, 1, 1, 2, 3, 4]");
    CHECK(run("Y[i+_,j+_] := A[pad(i,1,1,5),pad(j,1,1,7)]", {{"A", ramp({2, 2})}}) ==
          "[[5, 5, 5, 5],\n [7, 0, 1, 7],\n [7, 2, 3, 7],\n [5, 5, 5, 5]]");
    CHECK(run("Y[i+_,j+_] := A[pad(i,1,1,$c),pad(j,1,1,7)]", {{"A", ramp({2, 2})}, {"c", 5}}) ==
          "[[5, 5, 5, 5],\n [7, 0, 1, 7],\n [7, 2, 3, 7],\n [5, 5, 5, 5]]");
}

TEST_CASE("padding without widths does not constrain") {
    CHECK(run("Y[i] := a[pad(i-2)] where i in 0:8", {{"a", four()}}) == "[0, 0, 1, 2, 3, 4, 0, 0]");
    CHECK(run("Y[i] := a[pad(i-2, value=9)] where i in 0:8", {{"a", four()}}) ==
          "[9, 9, 1, 2, 3, 4, 9, 9]");
    CHECK(run("Y[i] := a[pad(i-2)]", {{"a", four()}})
              .starts_with("range: nothing bounds the index `i`"));
}

TEST_CASE("clamp repeats the edge, wrap the array, reflect mirrors it") {
    CHECK(run("Y[i] := a[clamp(i-2)] where i in 0:8", {{"a", four()}}) ==
          "[1, 1, 1, 2, 3, 4, 4, 4]");
    CHECK(run("Y[i] := a[wrap(i-2)] where i in 0:11", {{"a", four()}}) ==
          "[3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1]");
    CHECK(run("Y[i] := a[reflect(i-4)] where i in 0:14", {{"a", four()}}) ==
          "[3, 4, 3, 2, 1, 2, 3, 4, 3, 2, 1, 2, 3, 4]");
    CHECK(run("Y[i] := a[wrap(5-3*i)] where i in 0:4", {{"a", four()}}) == "[2, 3, 4, 1]");
    CHECK(run("Y[i] := a[clamp(i+k-1)]*f[k] where i in 0:4",
              {{"a", four()}, {"f", reals({1, 1, 1})}}) == "[ 4,  6,  9, 11]");
}

TEST_CASE("a single element is what clamp, wrap and reflect read") {
    const Arguments one{{"a", reals({5})}};
    CHECK(run("Y[i] := a[clamp(i-2)] where i in 0:3", one) == "[5, 5, 5]");
    CHECK(run("Y[i] := a[wrap(i-2)] where i in 0:3", one) == "[5, 5, 5]");
    CHECK(run("Y[i] := a[reflect(i-2)] where i in 0:3", one) == "[5, 5, 5]");
    CHECK(run("Y[i] := a[pad(i-2)] where i in 0:4", one) == "[0, 0, 5, 0]");
}

TEST_CASE("of nothing, padding reads its value and the others are errors") {
    const Arguments none{{"a", ramp({0})}};
    CHECK(run("Y[i] := a[pad(i-2, value=3)] where i in 0:3", none) == "[3, 3, 3]");
    CHECK(run("Y[i+_] := a[pad(i,1)]", none) == "[0, 0]");
    CHECK(run("Y[i] := a[wrap(i-2)] where i in 0:3", none) ==
          "range: `wrap` finds no element: dimension 0 of `a` has the extent 0\n"
          "  | Y[i] := a[wrap(i-2)] where i in 0:3\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: give `a` elements, or use `pad`");
    CHECK(run("Y[i] := a[clamp(i-2)]*b[i]", {{"a", ramp({0})}, {"b", ramp({0})}}) == "[]");
}

TEST_CASE("gathered subscripts may be modified") {
    const Arguments all{{"a", four()}, {"o", Array::from<std::int64_t>({-5, 1, 9}, {3})}};
    CHECK(run("Y[k] := a[wrap(o[k])]", all) == "[4, 2, 2]");
    CHECK(run("Y[k] := a[clamp(o[k])]", all) == "[1, 2, 4]");
    CHECK(run("Y[k] := a[reflect(o[k])]", all) == "[2, 2, 4]");
    CHECK(run("Y[k] := a[pad(o[k])]", all) == "[0, 2, 0]");
    CHECK(run("Y[i,k] := a[wrap(i+o[k])] where i in 0:2", all) == "[[4, 2, 2],\n [1, 3, 3]]");
    CHECK(run("Y[k] := a[pad(o[k],5,6)]", all) == "[0, 2, 0]");
    CHECK(run("Y[k] := a[pad(o[k],5,5)]", all)
              .starts_with("range: `a` is read at 9 in dimension 0, whose extent is 4 with 5 "
                           "before and 5 behind: o[2] is 9\n"));
    CHECK(run("Y[k] := a[o[wrap(k+1)]+5] where k in 0:1", all) ==
          "range: `a` is read at 6 in dimension 0, whose extent is 4: o[1] is 1\n"
          "  | Y[k] := a[o[wrap(k+1)]+5] where k in 0:1\n"
          "  |           ^^^^^^^^^^^^^^\n"
          "  = hint: exclude such points with a condition, or use `pad(…)`, `clamp(…)` or "
          "`wrap(…)`");
}

TEST_CASE("targets of updates may be modified") {
    const Arguments up{{"h", ramp({4})}, {"x", reals({1, 1, 1, 1, 1, 1, 1})}};
    CHECK(run("h[wrap(n-2)] += x[n]", up) == "[2, 2, 4, 5]");
    CHECK(run("h[clamp(n-2)] += x[n]", up) == "[3, 2, 3, 5]");
    CHECK(run("h[reflect(n-2)] += x[n]", up) == "[1, 3, 5, 4]");
    CHECK(run("h[pad(n-2)] += x[n]", up) == "[1, 2, 3, 4]");
    CHECK(run("h[pad(n-2)] max= 2*x[n]", up) == "[2, 2, 2, 3]");
    CHECK(run("h[pad(n-2)] *= 2*x[n]", up) == "[0, 2, 4, 6]");
    CHECK(run("h[pad(n-1)] += A[n,k]", {{"h", ramp({2})}, {"A", ramp({4, 2})}}) == "[ 5, 10]");
    CHECK(run("h[wrap(n+3)] = x[n] where n in 0:3", up) == "[1, 1, 2, 1]");
    CHECK(run("h[wrap(n)] = x[n] where n in 0:5", up)
              .starts_with("range: `=` gives an element of `h` two values: where n is 0, and "
                           "where n is 4"));
    CHECK(run("h[pad(n)] = x[n] where n in 0:5", up)
              .starts_with("syntax: `pad` leaves it open which elements `=` overwrites"));
    CHECK(run("h[pad(n,value=1)] += x[n] where n in 0:5", up)
              .starts_with("syntax: what lies outside of a target is not written"));
    CHECK(run("h[pad(n)] += x[n] where n in 0:5", {{"h", ramp({0})}, {"x", ramp({5})}}) == "[]");
}

TEST_CASE("widths of padding are constants of 0 and more") {
    const Arguments a{{"a", four()}};
    CHECK(run("Y[i+_] := a[pad(i,n)]", a) ==
          "range: the width of `pad` uses the index `n`\n"
          "  | Y[i+_] := a[pad(i,n)]\n"
          "  |                   ^\n"
          "  = hint: write `$n` for a number");
    CHECK(run("Y[i+_] := a[pad(i,-1)]", a) ==
          "range: the width of `pad` is -1\n"
          "  | Y[i+_] := a[pad(i,-1)]\n"
          "  |                   ^^\n"
          "  = hint: widths are 0 or more");
    CHECK(run("Y[i+_] := a[pad(i,$n)]", {{"a", four()}, {"n", -2}})
              .starts_with("range: the width of `pad` is -2"));
    CHECK(run("Y[i+_] := a[pad(i,0.5)]", a).starts_with("type: a subscript is an integer"));
    CHECK(run("Y[i] := a[pad(i-1,1)] where i in 0:9", a) ==
          "range: `a` can leave its padding: i-1 runs over 0..8 from its first element, and "
          "dimension 0 has 6 with it\n"
          "  | Y[i] := a[pad(i-1,1)] where i in 0:9\n"
          "  |           ^^^^^^^^^^\n"
          "  = hint: give a smaller range: `where i in …`");
}

TEST_CASE("a modifier stands around a whole subscript, with its own arguments") {
    const Arguments a{{"a", four()}};
    CHECK(run("Y[i] := a[1+pad(i)]", a)
              .starts_with("syntax: `pad` is a modifier of a whole subscript"));
    CHECK(run("Y[i] := pad(a[i])", a)
              .starts_with("syntax: `pad` is a modifier of a whole subscript"));
    CHECK(run("Y[i] := a[wrap(i,2)]", a).starts_with("syntax: `wrap` takes 1 argument, not 2"));
    CHECK(run("Y[i] := a[pad(i,1,2,3,4)]", a)
              .starts_with("syntax: `pad` takes 1 to 4 arguments, not 5"));
    CHECK(run("Y[i] := a[pad(i,with=2)]", a)
              .starts_with("syntax: `pad` takes no argument named `with`"));
    CHECK(run("def wrap(x) = x; Y[i] := a[i]", a)
              .starts_with("name: the function `wrap` exists already"));
}

TEST_CASE("modified reads of large arrays, in cores and borders") {
    const Array A = Array::randn(DType::f64, {67, 131}, 1);
    const Array F = Array::randn(DType::f64, {3, 5}, 2);
    for (const char* text :
         {"Y[i,j] := A[pad(i-1),pad(j-2)] + A[clamp(i+1),wrap(j+2)] where i in 0:67, j in 0:131",
          "Y[i,j] := A[pad(i+k-1,1),pad(j+l-2,2)]*F[k,l]",
          "Y[i,j] := A[wrap(i+k-1),reflect(j+l-2)]*F[k,l] where i in 0:67, j in 0:131",
          "Y[i,j] := max[k,l](A[pad(2*i+k-1,1,value=-inf),pad(2*j+l-2,2,value=-inf)]*F[k,l])",
          "Y[i,j] := A[clamp(j-i),j] where i in 0:90, j in 0:131",
          "Y[j] := A[reflect(i-3),wrap(j-3)]^2 where i in 0:90, j in 0:150"}) {
        CAPTURE(text);
        Arguments all{{"A", A}};
        if (std::string(text).find("F[") != std::string::npos) all.emplace_back("F", F);
        const Array fast = compile(text, "", Device::cpu)(all);
        const Array slow = compile(text, "", Device::reference)(all);
        REQUIRE(fast.shape() == slow.shape());
        double worst = 0;
        const auto x = fast.span<const double>();
        const auto y = slow.span<const double>();
        for (std::size_t n = 0; n < x.size(); ++n) worst = std::max(worst, std::abs(x[n] - y[n]));
        CHECK(worst < 1e-11);
    }
}

}  // namespace
}  // namespace ricci::tests
