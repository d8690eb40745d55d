// tests/language/statements_test.cpp – definitions, locals, targets and operators
#include <cstdint>

#include <doctest/doctest.h>

#include "tests/language/run_program.h"

namespace ricci::tests {
namespace {

TEST_CASE("a definition is a function of its parameters, written out where it is called") {
    CHECK(run("def sq(x) = x*x; y[i] := sq(a[i] + 1)", {{"a", ramp({4})}}) == "[ 1,  4,  9, 16]");
    CHECK(run("def f(x,y) = x*y + x\ndef g(x) = f(x, 2)\ny[i] := g(a[i])", {{"a", ramp({3})}}) ==
          "[0, 3, 6]");
}

TEST_CASE("a call of a definition is one term, like that of any function") {
    CHECK(run("def f(x) = x + 1; y[i] := f(A[i,k])", {{"A", ramp({2, 2})}}) == "[3, 7]");
    CHECK(run("def f(x) = -x; y[i] := 1 + f(A[i,k])", {{"A", ramp({2, 2})}}) == "[ 0, -4]");
    CHECK(run("def f(x) = x + 1; y[o] := f(W[o,k]*x[k])", {{"W", ramp({2, 2})}, {"x", ramp({2})}})
              .starts_with("syntax: the implied sum over `k` could reach around an addition"));
    CHECK(run("def f(x) = x + 1; y[i] := a[f(i)] where i in 0:2", {{"a", ramp({3})}}) == "[1, 2]");
}

TEST_CASE("a definition may stand behind its use") {
    CHECK(run("y := f(3); def f(x) = 2*x") == "6");
}

TEST_CASE("a definition knows its parameters alone") {
    CHECK(run("def f(x) = x*c; y[i] := f(a[i])", {{"a", ramp({3})}}) ==
          "name: `c` is no parameter of `f`\n"
          "  | def f(x) = x*c; y[i] := f(a[i])\n"
          "  |              ^\n"
          "  = hint: pass it as an argument");
    CHECK(run("def f(x) = f(x); y := f(1)").starts_with("name: the function `f` calls itself"));
    CHECK(run("def f(x) = x; y := f(1, 2)").starts_with("syntax: `f` takes 1 argument, not 2"));
    CHECK(run("def f(x,x) = x; y := f(1,2)").starts_with("name: `f` has two parameters `x`"));
    CHECK(run("def exp(x) = x; y := exp(1)").starts_with("name: the function `exp` exists"));
}

TEST_CASE("locals are written out before terms are formed") {
    const Arguments a{{"a", ramp({2})}, {"b", reals({1, 2})}};
    CHECK(run("B[i,j] := u / w where u = a[i] + 3, w = b[j]", a) == "[[  3, 1.5],\n [  4,   2]]");
    // Two terms, of which only the first one is summed over j.
    CHECK(run("y[i] := u where u = a[i]*b[j] + 10", a) == "[10, 13]");
    CHECK(run("y := sum[j](u) where u = b[j]", {a[1]}) == "3");
    CHECK(run("y[i] := v where v = 2*u, u = a[i]", {a[0]}) == "[0, 2]");
    CHECK(run("y[i] := u + a[i] where u = u + 1", a).starts_with("name: the local `u`"));
}

TEST_CASE("a local in a subscript is written out, its indices with it") {
    CHECK(run("y[i] := a[u] where u = i + 1, i in 0:3", {{"a", ramp({4})}}) == "[1, 2, 3]");
    CHECK(run("y := a[u] where u = k + 1, k in 0:2", {{"a", ramp({4})}}) == "3");
    CHECK(run("O[u] += a[i] where u = 2*i",
              {{"O", Array::zeros(DType::f64, {5})}, {"a", ramp({3})}}) == "[0, 0, 1, 0, 2]");
}

TEST_CASE("comments, semicolons and broken lines") {
    CHECK(run("# a comment\ny[i] := a[i] + # another\n  1; z[i] := y[i] where  # and one more\n"
              "  i in 0:2\n",
              {{"a", ramp({3})}}) == "[1, 2]");
}

TEST_CASE("a dimension of one element is `_` or 0") {
    CHECK(run("Y[0,j] := a[j]", {{"a", ramp({3})}}) == "[[0, 1, 2]]");
    CHECK(run("Y[j,_] := a[j]", {{"a", ramp({2})}}) == "[[0],\n [1]]");
    CHECK(run("Y[_] := a[j]", {{"a", ramp({3})}}) == "[3]");
    CHECK(run("A[_,j] += b[j]", {{"A", ramp({1, 2})}, {"b", ramp({2})}}) == "[[0, 2]]");
    CHECK(run("A[_,j] += b[j]", {{"A", ramp({2, 2})}, {"b", ramp({2})}}) == "[[0, 2],\n [2, 3]]");
}

TEST_CASE("a repeated index makes a diagonal") {
    CHECK(run("D[i,i] := a[i]", {{"a", reals({1, 2})}}) == "[[1, 0],\n [0, 2]]");
    CHECK(run("D[i,j,i] := A[i,j]", {{"A", reals({1, 2}).reshape({2, 1})}}) ==
          "[[[1, 0]],\n\n [[0, 2]]]");
    CHECK(run("D[i,i] = a[i]", {{"D", Array::full(DType::f64, {2, 2}, 7)}, {"a", ramp({2})}}) ==
          "[[0, 7],\n [7, 1]]");
    CHECK(run("D[i,i] += 1", {{"D", ramp({2, 2})}}) == "[[1, 1],\n [2, 4]]");
    CHECK(run("D[i,i] += 1", {{"D", ramp({2, 3})}}).starts_with("shape: index `i` has two"));
}

TEST_CASE("a shifted index begins at 0") {
    CHECK(run("Y[j+_] := a[j-3] where j in 5:9", {{"a", ramp({10})}}) == "[2, 3, 4, 5]");
    CHECK(run("Y[i,j+_] := A[i,j] where j in 1:3", {{"A", ramp({2, 3})}}) == "[[1, 2],\n [4, 5]]");
    CHECK(run("Y[i+_] := a[3-i]", {{"a", ramp({6})}}) == "[5, 4, 3, 2, 1, 0]");
    CHECK(run("Y[i] := a[3-i]", {{"a", ramp({6})}}) ==
          "range: the index `i` of a new array starts at -2, not at 0\n"
          "  | Y[i] := a[3-i]\n"
          "  |   ^\n"
          "  = hint: write `Y[i+_]` to shift it to 0");
}

TEST_CASE("targets of updates are affine") {
    const Arguments up{{"O", Array::zeros(DType::f64, {7})},
                       {"x", ramp({3})},
                       {"w", Array::full(DType::f64, {3}, 1)}};
    CHECK(run("O[2*i+k] += x[i]*w[k]", up) == "[0, 0, 1, 1, 3, 2, 2]");
    Arguments scaled = up;
    scaled.emplace_back("s", 2);
    CHECK(run("O[$s*i+k] += x[i]*w[k]", scaled) == "[0, 0, 1, 1, 3, 2, 2]");
    CHECK(run("O[end-i] += x[i]", {up[0], up[1]}) == "[0, 0, 0, 0, 2, 1, 0]");
    CHECK(run("O[i//2] += x[i]", {{"O", ramp({2})}, {"x", ramp({4})}}) == "[1, 6]");
    CHECK(run("O[i%2] += x[i]", {{"O", ramp({2})}, {"x", ramp({4})}}) == "[2, 5]");
    CHECK(run("O[i//2] max= x[i]", {{"O", ramp({2})}, {"x", ramp({4})}}) == "[1, 3]");
    CHECK(run("O[i//2] *= x[i]", {{"O", ramp({2})}, {"x", ramp({4})}}) == "[0, 6]");
    CHECK(run("O[i//2] -= x[i]", {{"O", ramp({2})}, {"x", ramp({4})}}) == "[-1, -4]");
    CHECK(run("O[-1] += 5", {{"O", ramp({3})}}) == "[0, 1, 7]");
    CHECK(run("O[2*i] = x[i]", {{"O", ramp({5})}, {"x", ramp({3})}}) == "[0, 1, 1, 3, 2]");
    CHECK(run("O[i//2] = x[i]", {{"O", ramp({2})}, {"x", ramp({4})}})
              .starts_with("range: `=` gives an element of `O` several values"));
}

TEST_CASE("an array may be updated many times, and each statement reads what stands then") {
    CHECK(run("A[i] += 1; B[i] := A[i]; A[i] *= 2; C[i] := A[i] - B[i]", {{"A", ramp({3})}}) ==
          "[1, 2, 3]");
    CHECK(run("A[i] = A[i] + 1; A[i] = A[i]*A[i]", {{"A", ramp({3})}}) == "[1, 4, 9]");
}

TEST_CASE("an array that is updated is read where it is written alone") {
    const Arguments y{{"y", ramp({3})}};
    CHECK(run("y[i] = y[i-1] + y[i]", y)
              .starts_with("range: `y` is read at another place than it is written"));
    CHECK(run("y[i] = y[2-i]", y)
              .starts_with("range: `y` is read at another place than it is written"));
    CHECK(run("y[i] = y[i] + 1", y) == "[1, 2, 3]");
}

TEST_CASE("a contraction of narrow elements fills tiles of three wide vectors") {
    for (const std::int64_t columns : {17, 20, 24, 48}) {
        CAPTURE(columns);
        const Arguments a{{"G", ramp({34, columns}).to(DType::u8)},
                          {"F", ramp({16, 34}).to(DType::u8)},
                          {"x", ramp({34})}};
        CHECK_FALSE(run("T[i,j] := (G[k,j] > 90 && F[i,k] > 50); s := T[i,j]*(i+1)*(2*j+1)", a)
                        .starts_with("cpu"));
        CHECK_FALSE(run("T[i,j] := x[k]*(G[k,j] == F[i,k]); s := T[i,j]*(i+1)*(2*j+1)", a)
                        .starts_with("cpu"));
    }
}

TEST_CASE("scalars are made and updated with and without brackets") {
    CHECK(run("s := a[i]; y[i] := a[i]/s", {{"a", reals({1, 3})}}) == "[0.25, 0.75]");
    CHECK(run("s[] := a[i]; t := s[] + s", {{"a", reals({1, 3})}}) == "8");
    CHECK(run("s := 1.0; s += a[i]; s *= 2", {{"a", reals({1, 3})}}) == "10");
}

TEST_CASE("values of indices keep their low bits where they meet narrow integers") {
    const auto zeros = [](DType dtype) { return Array::zeros(dtype, {4}); };
    CHECK(run("y[i] := a[i] + i*100", {{"a", zeros(DType::i8)}}) == "[  0, 100, -56,  44]");
    CHECK(run("y[i] := (a[i] + 1)*(i - 2)", {{"a", zeros(DType::u32)}}) ==
          "[4294967294, 4294967295,          0,          1]");
    CHECK(run("y[i] := a[pad(i-1,1,1,i*200)]", {{"a", zeros(DType::i8)}}) ==
          "[  0,   0,   0,   0,   0, -24]");
    CHECK(run("a[i] max= d[i]",
              {{"a", Array::full(DType::i8, {2}, 1)}, {"d", keys({300, -300})}}) == "[44,  1]");
}

TEST_CASE("values beyond 64 bits wrap, whatever they are made of") {
    CHECK(run("s := 9223372036854775807 + 1") == "-9223372036854775808");
    CHECK(run("s := 9223372036854775807*2") == "-2");
    CHECK(run("y[i] := i*9223372036854775807 + i where i in 0:3") ==
          "[                   0, -9223372036854775808,                    0]");
}

TEST_CASE("integers are divided by what a choice of indices gives") {
    const Arguments m{{"m", Array::from<std::int32_t>(
                                std::initializer_list<std::int32_t>{1, 1, -5, -5, 1}, {5})}};
    CHECK(run("y[i] := 7 // (m[i] < 0 ? i*2 : i*3)", m) == "[0, 2, 1, 1, 0]");
    CHECK(run("y[i] := 7 % (m[i] < 0 ? i*2 : i*3)", m) == "[0, 1, 3, 1, 7]");
    CHECK(run("y[i] := u64(7) // u64(m[i] < 0 ? i*2 : i*3)", m) == "[0, 2, 1, 1, 0]");
    CHECK(run("y[i] := -7 // (m[i] < 0 ? i - 1 : i - 2)", m) == "[ 3,  7, -7, -4, -4]");
    CHECK(run("y[i] := m[i] % (m[i] < 0 ? i - 1 : i - 2)", m) == "[-1,  0,  0,  1,  1]");
    CHECK(run("y[i] := x[i] // (i - 1)", {{"x", keys({INT64_MIN, 5, -5})}}) ==
          "[-9223372036854775808,                    0,                   -5]");
}

}  // namespace
}  // namespace ricci::tests
