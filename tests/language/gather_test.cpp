// tests/language/gather_test.cpp – subscripts read from arrays, and the checks of what they hold
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/language/run_program.h"

namespace ricci::tests {
namespace {

TEST_CASE("elements are read at places that an array holds") {
    const Arguments a{{"A", ramp({3, 2})}, {"J", keys({2, 0, 2})}};
    CHECK(run("Y[i,k] := A[J[i],k]", a) == "[[4, 5],\n [0, 1],\n [4, 5]]");
    CHECK(run("y[i] := A[J[i],1]", a) == "[5, 1, 5]");
    CHECK(run("y := A[J[i],k]", a) == "19");
    CHECK(run("y[k] := A[J[i],k]*A[J[i],0]", a) == "[32, 40]");
    CHECK(run("Y[k,i] := A[J[i],k]", a) == "[[4, 0, 4],\n [5, 1, 5]]");
}

TEST_CASE("data is part of a sum in a subscript") {
    CHECK(run("Y[i,k] := a[i+J[k]] where i in 0:2", {{"a", ramp({5})}, {"J", keys({3, 0, -0})}}) ==
          "[[3, 0, 0],\n [4, 1, 1]]");
    CHECK(run("Y[i,j] := a[2*J[i]+j] where j in 0:2", {{"a", ramp({6})}, {"J", keys({2, 0})}}) ==
          "[[4, 5],\n [0, 1]]");
    CHECK(run("y[i] := a[end-J[i]]", {{"a", ramp({4})}, {"J", keys({0, 3})}}) == "[3, 0]");
    CHECK(run("y[i] := a[J[i]-K[i]]",
              {{"a", ramp({4})}, {"J", keys({5, 3})}, {"K", keys({4, 0})}}) == "[1, 3]");
    CHECK(run("y[i] := a[J[i]//2] + a[J[i]%2]", {{"a", ramp({4})}, {"J", keys({7, 4})}}) ==
          "[4, 2]");
}

TEST_CASE("gathers nest, and a computed scalar is one") {
    CHECK(run("y[i] := a[J[K[i]]]",
              {{"a", ramp({4})}, {"J", keys({3, 1})}, {"K", keys({1, 0, 0})}}) == "[1, 3, 3]");
    CHECK(run("m := argmax[i](a[i]); y := b[$m]", {{"a", reals({1, 5, 2})}, {"b", ramp({3})}}) ==
          "1");
    CHECK(run("m := argmax[i](a[i]); y := b[$m]", {{"a", reals({1, 5, 2})}, {"b", ramp({1})}})
              .starts_with("range: `b` is read at 1 in dimension 0, whose extent is 1: m is 1\n"));
    CHECK(run("m := a[0]; y := b[$m]", {{"a", reals({1})}, {"b", ramp({1})}}) ==
          "type: `m` has the type f64, and stands in a subscript\n"
          "  | m := a[0]; y := b[$m]\n"
          "  |                   ^^\n"
          "  = hint: give integers, or convert: `i64($m)`");
    CHECK(run("m := a[0]; y := b[i64($m)]", {{"a", reals({1})}, {"b", ramp({2})}}) == "1");
    CHECK(run("J[i] := argmax[k](X[i,k]); y[i] := w[J[i]]",
              {{"X", reals({1, 2, 4, 3}).reshape({2, 2})}, {"w", reals({10, 20})}}) == "[20, 10]");
}

TEST_CASE("the places may be integers of any type") {
    for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
                              DType::u32, DType::u64}) {
        CAPTURE(name(dtype));
        const Arguments a{{"a", ramp({300})}, {"J", keys({100, 0, 2}).to(dtype)}};
        CHECK(run("y[i] := a[J[i]]", a) == "[100,   0,   2]");
        // Subscripts are computed in 64 bits.
        CHECK(run("y[i] := a[2*J[i]+J[i]-1+i] where i in 0:1", a) == "[299]");
        CHECK(run("y[i] := a[4*J[i]]", a).starts_with("range: `a` is read at 400 in dimension 0"));
        CHECK(run("h[J[n]] += 1", {{"h", keys({0, 0, 0})}, {"J", keys({1, 0, 1}).to(dtype)}}) ==
              "[1, 2, 0]");
    }
    CHECK(run("y[i] := a[J[i]]", {{"a", ramp({3})}, {"J", Array::full(DType::u64, {1}, 0x1p63)}})
              .starts_with("range: "));
    CHECK(run("y[i] := a[J[i]]", {{"a", ramp({3})}, {"J", ramp({3})}}) ==
          "type: `J` has the type f64, and stands in a subscript\n"
          "  | y[i] := a[J[i]]\n"
          "  |           ^^^^\n"
          "  = hint: give integers, or convert: `i64(J[…])`");
    CHECK(run("y[i] := a[i64(x[i])]", {{"a", ramp({3})}, {"x", reals({1.5, 2})}}) == "[1, 2]");
}

TEST_CASE("data gives no range to an index") {
    CHECK(run("y[i] := a[i+J[0]]", {{"a", ramp({4})}, {"J", keys({1})}})
              .starts_with("range: nothing bounds the index `i`"));
}

TEST_CASE("a place outside is an error that tells where it was read") {
    CHECK(run("Y[i,k] := A[J[i],k]", {{"A", ramp({3, 2})}, {"J", keys({2, 0, 3})}}) ==
          "range: `A` is read at 3 in dimension 0, whose extent is 3: J[2] is 3\n"
          "  | Y[i,k] := A[J[i],k]\n"
          "  |             ^^^^\n"
          "  = hint: exclude such points with a condition, or use `pad(…)`, `clamp(…)` or "
          "`wrap(…)`");
    CHECK(run("Y[i,k] := A[J[i],k]", {{"A", ramp({3, 2})}, {"J", keys({2, -1, 3})}})
              .starts_with("range: `A` is read at -1 in dimension 0, whose extent is 3: "
                           "J[1] is -1\n"));
    CHECK(run("Y[i,k] := a[i+J[k]] where i in 0:3", {{"a", ramp({5})}, {"J", keys({0, 3})}})
              .starts_with("range: `a` is read at 5 in dimension 0, whose extent is 5: "
                           "J[1] is 3, i is 2\n"));
    CHECK(run("y[i] := a[J[K[i]]]", {{"a", ramp({4})}, {"J", keys({3, 4})}, {"K", keys({0, 1})}})
              .starts_with("range: `a` is read at 4 in dimension 0, whose extent is 4: "
                           "J[1] is 4\n"));
    CHECK(run("y[i] := a[J[K[i]]]", {{"a", ramp({4})}, {"J", keys({3, 4})}, {"K", keys({0, 2})}})
              .starts_with("range: `J` is read at 2 in dimension 0, whose extent is 2: "
                           "K[1] is 2\n"));
    CHECK(run("y[i] := a[J[i]]", {{"a", ramp({0})}, {"J", keys({0})}})
              .starts_with("range: `a` is read at 0 in dimension 0, whose extent is 0"));
    CHECK(run("y[i] := a[J[i]]", {{"a", ramp({0})}, {"J", keys({})}}) == "[]");
}

TEST_CASE(
    "places that were found inside are looked at again where they, or the array, are others") {
    const auto twice = [](const std::string& second, const Array& J) {
        return run("y[i] := a[J[i]]; " + second, {{"a", ramp({3})}, {"b", ramp({2})}, {"J", J}});
    };
    CHECK(twice("z[k] := a[J[k]] + b[0]", keys({2, 0})) == "[2, 0]");
    CHECK(twice("z[k] := a[J[k]]*b[J[k]]", keys({1, 0})) == "[1, 0]");
    CHECK(
        twice("z[k] := a[J[k]]*b[J[k]]", keys({2, 0}))
            .starts_with("range: `b` is read at 2 in dimension 0, whose extent is 2: J[0] is 2\n"));
    CHECK(twice("J[i] += 1; z[k] := a[J[k]] + b[0]", keys({1, 0})) == "[2, 1]");
    CHECK(twice("J[i] += 1; z[k] := a[J[k]] + b[0]", keys({2, 0}))
              .starts_with("range: `a` is read at 3 in dimension 0, whose extent is 3"));
}

TEST_CASE("places of i32 are found outside wherever they stand, the farthest too") {
    constexpr std::int64_t count = 3000;
    for (const std::int64_t place : {3L, -1L, 2147483647L, -2147483647L, -2147483648L})
        for (const std::int64_t at : {0L, 1037L, count - 1}) {
            const Array J = Array::zeros(DType::i32, {count});
            J.span<std::int32_t>()[std::size_t(at)] = std::int32_t(place);
            CHECK(run("y[i] := a[J[i]]", {{"a", ramp({3})}, {"J", J}})
                      .starts_with(format("range: `a` is read at {} in dimension 0, whose extent "
                                          "is 3: J[{}] is {}\n",
                                          place, at, place)));
        }
}

TEST_CASE("places beyond 64 bits are outside") {
    const Array far = keys({std::int64_t{1} << 62});
    CHECK(run("y[i] := a[4*J[i]]", {{"a", ramp({3})}, {"J", far}})
              .starts_with("range: a gathered subscript of `a` leaves 64 bits"));
    CHECK(run("y[i] := a[J[i]]", {{"a", ramp({3})}, {"J", far}})
              .starts_with("range: `a` is read at 4611686018427387904 in dimension 0"));
}

TEST_CASE("what a condition excludes is not checked") {
    const Arguments bag{{"W", ramp({3, 2})}, {"tok", keys({0, 2, -1, -1}).reshape({2, 2})}};
    CHECK(run("Y[b,d] := sum[t | tok[b,t] >= 0](W[tok[b,t],d])", bag) == "[[4, 6],\n [0, 0]]");
    CHECK(run("Y[b,t,d] := tok[b,t] >= 0 ? W[tok[b,t],d] : -1 where b in 0:1", bag) ==
          "[[[0, 1],\n  [4, 5]]]");
    CHECK(run("y[b] := sum[t | tok[b,t] >= 0 && W[tok[b,t],0] > 1](1)", bag) == "[1, 0]");
    CHECK(run("y[b] := sum[t | !(tok[b,t] < 0 || W[tok[b,t],0] < 1)](1)", bag) == "[1, 0]");
    CHECK(run("Y[b,d] := sum[t | tok[b,t] > -2](W[tok[b,t],d])", bag)
              .starts_with("range: `W` is read at -1 in dimension 0, whose extent is 3: "
                           "tok[1,0] is -1"));
}

TEST_CASE("what a condition excludes is not checked in reductions inside either") {
    const Arguments bag{{"W", ramp({3, 2})}, {"tok", keys({0, 2, -1, -1}).reshape({2, 2})}};
    CHECK(run("y[b] := sum[t | tok[b,t] >= 0](max[d](W[tok[b,t],d]))", bag) == "[6, 0]");
    CHECK(run("Y[b,t] := tok[b,t] >= 0 ? sum[d](W[tok[b,t],d]) : 0", bag) == "[[1, 9],\n [0, 0]]");
    CHECK(run("Y[b,t] := n > 0 ? sum[d](W[tok[b,t],d]) : 7", {bag[0], bag[1], {"n", Array(0)}}) ==
          "[[7, 7],\n [7, 7]]");
}

TEST_CASE("an index excluded by its range of another is not checked") {
    CHECK(run("y[i] := sum[k | k < i](a[J[k]]) where i in 0:3",
              {{"a", ramp({3})}, {"J", keys({2, 1, 9})}}) == "[0, 2, 3]");
    CHECK(run("y[i] := sum[k | k <= i](a[J[k]]) where i in 0:3",
              {{"a", ramp({3})}, {"J", keys({2, 1, 9})}})
              .starts_with("range: `a` is read at 9"));
}

TEST_CASE("a histogram counts its keys in order") {
    const Array J = keys({2, 0, 2, 2});
    CHECK(run("h[J[n]] += 1", {{"h", ramp({4})}, {"J", J}}) == "[1, 1, 5, 3]");
    CHECK(run("h[J[n]] += x[n]",
              {{"h", Array::zeros(DType::f64, {3})}, {"J", J}, {"x", ramp({4})}}) == "[1, 0, 5]");
    CHECK(run("h[J[n]] -= x[n]",
              {{"h", Array::zeros(DType::f64, {3})}, {"J", J}, {"x", ramp({4})}}) ==
          "[-1,  0, -5]");
    CHECK(run("h[J[n]] max= x[n]",
              {{"h", Array::full(DType::f64, {3}, 1)}, {"J", J}, {"x", ramp({4})}}) == "[1, 1, 3]");
    CHECK(run("h[J[n]] min= x[n]",
              {{"h", Array::full(DType::f64, {3}, 1)}, {"J", J}, {"x", ramp({4})}}) == "[1, 1, 0]");
    CHECK(run("h[J[n]] *= x[n]",
              {{"h", Array::full(DType::f64, {3}, 1)}, {"J", J}, {"x", ramp({4})}}) == "[1, 1, 0]");
    CHECK(run("H[J[n],k] += X[n,k]",
              {{"H", Array::zeros(DType::f64, {3, 2})}, {"J", J}, {"X", ramp({4, 2})}}) ==
          "[[ 2,  3],\n [ 0,  0],\n [10, 13]]");
    CHECK(run("h[J[n]] += A[n,k]",
              {{"h", Array::zeros(DType::f64, {3})}, {"J", J}, {"A", ramp({4, 2})}}) ==
          "[ 5,  0, 23]");
}

TEST_CASE("a key outside is an error, and nothing is written") {
    const Array h = ramp({3});
    const Function count = compile("h[J[n]] += 1");
    CHECK_THROWS((void)count(h, keys({0, 1, 3})));
    CHECK(str(h) == "[0, 1, 2]");
    CHECK(run("h[J[n]] += 1", {{"h", ramp({3})}, {"J", keys({0, 1, 3})}}) ==
          "range: `h` is written at 3 in dimension 0, whose extent is 3: J[2] is 3\n"
          "  | h[J[n]] += 1\n"
          "  |   ^^^^\n"
          "  = hint: give places that exist, or leave others out with `pad(…)`");
}

TEST_CASE("places are checked before earlier statements write") {
    const Array h = ramp({3});
    const Array x = ramp({2});
    const Function twice = compile("h[i] += 1; m[n] := argmax[k](X[n,k]); h[m[n]+$s] += x[n]");
    const Array X = reals({1, 2, 3, 4, 3, 2}).reshape({2, 3});
    CHECK_THROWS((void)twice(h, X, Array(1), x));
    CHECK(str(h) == "[0, 1, 2]");
    CHECK(str(twice(h, X, Array(0), x)) == "[2, 2, 3]");
    CHECK(str(h) == "[2, 2, 3]");
}

TEST_CASE("numbers beyond any array stand beside data in subscripts") {
    const std::string far = "4611686018427387904";
    const Arguments a{{"h", ramp({4, 3})}, {"J", keys({3, 0})}, {"K", keys({2, 1})}};
    CHECK(run("y[i] := h[pad(J[i]+" + far + "),K[i]]", a) == "[0, 0]");
    CHECK(run("y[i] := h[J[i]+" + far + ",K[i]]", a) ==
          "range: `h` is read at 4611686018427387907 in dimension 0, whose extent is 4: J[0] is 3\n"
          "  | y[i] := h[J[i]+4611686018427387904,K[i]]\n"
          "  |           ^^^^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: exclude such points with a condition, or use `pad(…)`, `clamp(…)` or "
          "`wrap(…)`");
    CHECK(
        run("h[J[i]+" + far + ",K[i]] += 1", a)
            .starts_with(
                "range: `h` is written at 4611686018427387907 in dimension 0, whose extent is 4"));
}

TEST_CASE("what is overwritten at gathered places is overwritten once") {
    CHECK(run("D[J[i]] = x[i]", {{"D", ramp({4})}, {"J", keys({2, 0})}, {"x", reals({7, 8})}}) ==
          "[8, 1, 7, 3]");
    CHECK(run("D[J[i],k] = X[i,k]",
              {{"D", ramp({3, 2})}, {"J", keys({2, 0})}, {"X", ramp({2, 2})}}) ==
          "[[2, 3],\n [2, 3],\n [0, 1]]");
    CHECK(run("D[J[i]] = x[i]",
              {{"D", ramp({4})}, {"J", keys({2, 0, 2})}, {"x", reals({7, 8, 9})}}) ==
          "range: `=` gives an element of `D` two values: where i is 0, and where i is 2\n"
          "  | D[J[i]] = x[i]\n"
          "  | ^^^^^^^^^^^^^^\n"
          "  = hint: use `+=` to add them up");
    const Array D = ramp({4});
    const Function put = compile("D[J[i]] = x[i]");
    CHECK_THROWS((void)put(D, keys({1, 1}), ramp({2})));
    CHECK(str(D) == "[0, 1, 2, 3]");
    CHECK(
        run("D[J[i],K[i]] = 1", {{"D", ramp({2, 2})}, {"J", keys({0, 0})}, {"K", keys({0, 1})}}) ==
        "[[1, 1],\n [2, 3]]");
    CHECK(run("D[J[i]+2*j] = 1", {{"D", ramp({5})}, {"J", keys({0, 2})}})
              .starts_with("range: nothing bounds"));
    CHECK(run("D[J[i]+2*j] = 9 where j in 0:2", {{"D", ramp({5})}, {"J", keys({0, 1})}}) ==
          "[9, 9, 9, 9, 4]");
    CHECK(run("D[J[i]+2*j] = 9 where j in 0:2", {{"D", ramp({5})}, {"J", keys({0, 2})}})
              .starts_with("range: `=` gives an element of `D` two values: where i is 0, j is 1, "
                           "and where i is 1, j is 0"));
}

TEST_CASE("an array that several points update is not read") {
    CHECK(run("h[J[n]] += h[J[n]]", {{"h", ramp({3})}, {"J", keys({2, 0})}}) == "[0, 1, 4]");
    CHECK(run("h[J[n]] += h[J[n]]", {{"h", ramp({3})}, {"J", keys({2, 0, 2})}}) ==
          "range: `h` is read, and two points update one element of it: where n is 0, and where n "
          "is 2\n"
          "  | h[J[n]] += h[J[n]]\n"
          "  | ^^^^^^^^^^^^^^^^^^\n"
          "  = hint: make a copy of `h` first, and read that");
    CHECK(run("h[n//2] += h[n//2] where n in 0:6", {{"h", ramp({3})}})
              .starts_with("range: `h` is read, and several points update one element of it"));
    CHECK(run("J[J[i]] += 1", {{"J", keys({0, 1})}})
              .starts_with("range: `J` is read at another place than it is written"));
    CHECK(run("D[J[i]] = D[J[i]] + 1", {{"D", ramp({3})}, {"J", keys({2, 0})}}) == "[1, 1, 3]");
}

TEST_CASE("a gathered subscript is made of integers, indices and choices between them") {
    CHECK(run("y[i] := a[J[i] >= 0 ? J[i] : 0]", {{"a", ramp({3})}, {"J", keys({-1, 2})}}) ==
          "[0, 2]");
    CHECK(run("y[i] := a[max(J[i], 1)]", {{"a", ramp({3})}, {"J", keys({0, 2})}}) == "[1, 2]");
    CHECK(run("y[i] := a[J[i]/2]", {{"a", ramp({3})}, {"J", keys({0, 2})}})
              .starts_with("syntax: a gathered subscript is an integer"));
    CHECK(run("y[i] := a[J[i]+0.5]", {{"a", ramp({3})}, {"J", keys({0, 2})}})
              .starts_with("type: a subscript is an integer"));
    CHECK(run("y := a[sum[i](J[i])]", {{"a", ramp({3})}, {"J", keys({0, 2})}})
              .starts_with("syntax: a subscript holds a reduction"));
}

TEST_CASE("what stands in a subscript is no part of a sum") {
    // A product of data and a sum beside it contract nothing.
    CHECK(run("y[i] := exp(a[J[k]*K[k]+i] - b[i]) where i in 0:1",
              {{"a", ramp({3})}, {"J", keys({1, 0})}, {"K", keys({0, 5})}, {"b", ramp({1})}}) ==
          "[2]");
}

TEST_CASE("large gathers are cut into tasks") {
    const std::int64_t n = 100'000;
    const Array J = Array::randint(DType::i64, {n}, 0, 1000, 1);
    const Array A = Array::randn(DType::f64, {1000}, 2);
    const Array y = compile("y[i] := A[J[i]]")(A, J);
    double worst = 0;
    for (std::int64_t i = 0; i < n; ++i)
        worst = std::max(worst, std::abs(y.at({i}) - A.at({std::int64_t(J.at({i}))})));
    CHECK(worst == 0);
    J.span<std::int64_t>()[77'777] = 1000;
    CHECK_THROWS((void)compile("y[i] := A[J[i]]")(A, J));
}

}  // namespace
}  // namespace ricci::tests
