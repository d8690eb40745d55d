// tests/language/subscripts_test.cpp – affine subscripts, quotients, the end, scalars and sizes
#include <doctest/doctest.h>

#include "tests/language/run_program.h"

namespace ricci::tests {
namespace {

TEST_CASE("a subscript is a sum of integer multiples") {
    CHECK(run("y[i] := a[2*i + 3*k - 1] where i in 0:3, k in 1:3", {{"a", ramp({12})}}) ==
          "[ 7, 11, 15]");
    CHECK(run("y[i] := a[3-i] where i in 0:4", {{"a", ramp({6})}}) == "[3, 2, 1, 0]");
    CHECK(run("y[i] := a[2*(i+1)] where i in 0:2", {{"a", ramp({5})}}) == "[2, 4]");
    CHECK(run("y[i] := a[i+size(a,0)-3] where i in 0:3", {{"a", ramp({5})}}) == "[2, 3, 4]");
}

TEST_CASE("the end of a dimension is `end`, or a negative literal alone") {
    CHECK(run("y[i] := a[i] - a[end]", {{"a", ramp({4})}}) == "[-3, -2, -1,  0]");
    CHECK(run("y[i] := a[end-i]", {{"a", ramp({4})}}) == "[3, 2, 1, 0]");
    CHECK(run("y[i] := A[i,-1] - A[i,end-1]", {{"A", ramp({2, 3})}}) == "[1, 1]");
    CHECK(run("y := a[-1] + a[-2]", {{"a", ramp({4})}}) == "5");
    CHECK(run("y := a[-5]", {{"a", ramp({4})}}).starts_with("range: `a` has no element -5 in"));
    CHECK(run("y := a[$n]", {{"a", ramp({4})}, {"n", -1}})
              .starts_with("range: `a` has no element -1 in"));
    CHECK(run("y[i] := B[end,i] where i in 0:2", {{"B", ramp({2, 3})}}) == "[3, 4]");
}

TEST_CASE("quotients and remainders round towards minus infinity") {
    CHECK(run("y[i] := a[i//2] + a[i%2] where i in 0:4", {{"a", ramp({4})}}) == "[0, 1, 1, 2]");
    CHECK(run("y[i] := a[i//2]", {{"a", ramp({3})}}) == "[0, 0, 1, 1, 2, 2]");
    CHECK(run("y[i] := a[i//2+1]", {{"a", ramp({3})}}).starts_with("range: the index `i` of a"));
    CHECK(run("y[i+_] := a[i//2+1]", {{"a", ramp({3})}}) == "[0, 0, 1, 1, 2, 2]");
    CHECK(run("y[i] := a[i//2-1+size(b,0)]", {{"a", ramp({3})}, {"b", ramp({1})}}) ==
          "[0, 0, 1, 1, 2, 2]");
    CHECK(run("y[i] := a[(i-1) % 3] where i in 0:4", {{"a", ramp({3})}}) == "[2, 0, 1, 2]");
    CHECK(run("y[i] := a[(i-3)//2 + 2] where i in 0:5", {{"a", ramp({3})}}) == "[0, 1, 1, 2, 2]");
    CHECK(run("y[i] := a[i % $c]  where i in 0:4", {{"a", ramp({3})}, {"c", 3}}) == "[0, 1, 2, 0]");
    CHECK(run("y[i] := a[(i+1) % size(a,0)] where i in 0:4", {{"a", ramp({3})}}) == "[1, 2, 0, 1]");
    CHECK(run("y[i] := a[i % $c] where i in 0:4", {{"a", ramp({3})}, {"c", 0}})
              .starts_with("range: the subscript `i%$c` is not affine"));
}

TEST_CASE("a scalar stands in a subscript with a dollar") {
    CHECK(run("y[i] := A[i,$c]", {{"A", ramp({2, 3})}, {"c", 1}}) == "[1, 4]");
    CHECK(run("y[i] := a[$n-i] where i in 0:$n", {{"a", ramp({4})}, {"n", 3}}) == "[3, 2, 1]");
    CHECK(run("y[i] := a[i] where i in 0:n", {{"a", ramp({4})}, {"n", 2}}) == "[0, 1]");
    CHECK(run("y[i] := c*a[i] + $c", {{"a", ramp({3})}, {"c", 2}}) == "[2, 4, 6]");
    CHECK(run("y[i] := A[i,c]", {{"A", ramp({2, 3})}, {"c", 1}}) ==
          "name: `c` is an index, and was given a value\n"
          "  = hint: write `$c` where the number is meant");
    CHECK(run("y[i] := A[i,$c]", {{"A", ramp({2, 3})}, {"c", 1.5}})
              .starts_with("type: `c` is 1.5, but stands in a subscript or a range"));
}

TEST_CASE("the extent of a dimension is a number") {
    CHECK(run("y[i] := size(A,0)*i + size(A,-1) + 0*A[i,j]", {{"A", ramp({2, 3})}}) == "[3, 5]");
    CHECK(run("y := A[i,j]/size(A,2)", {{"A", ramp({2, 3})}})
              .starts_with("shape: `A` has 2 dimensions, and no dimension 2"));
}

TEST_CASE("a scalar is shown as it is written in a subscript") {
    CHECK(run("y[i] := a[$s*i]  where i in 0:3", {{"a", ramp({4})}, {"s", 2}}) ==
          "range: `a` can leave its array: $s*i runs over 0..4 in dimension 0 of extent 4\n"
          "  | y[i] := a[$s*i]  where i in 0:3\n"
          "  |           ^^^^\n"
          "  = hint: give a smaller range: `where i in …`");
}

TEST_CASE("the bound of a range is made of whole numbers") {
    const Arguments a{{"a", ramp({6})}};
    CHECK(run("y[i] := a[i] where i in 0:size(a,0)//2", a) == "[0, 1, 2]");
    CHECK(run("y[i] := a[i] where i in 0:size(a,0)/2", a) ==
          "type: the bound of a range is an integer term\n"
          "  | y[i] := a[i] where i in 0:size(a,0)/2\n"
          "  |                           ^^^^^^^^^^^\n"
          "  = hint: use `+`, `-`, `*`, `//`, `%` of whole numbers, sizes and scalars");
    CHECK(run("y[i] := a[i] where i in 0:2.5", a).starts_with("type: the bound of a range is an"));
    CHECK(run("y := sum[i in 0:exp(1)](a[i])", a).starts_with("type: the bound of a range is an"));
}

TEST_CASE("an index that is used as a value is its integer value") {
    CHECK(run("y[i,j] := i == j ? 1 : 0 where i in 0:2, j in 0:2") == "[[1, 0],\n [0, 1]]");
    CHECK(run("y[i] := a[i]*i", {{"a", ramp({4})}}) == "[0, 1, 4, 9]");
}

TEST_CASE("a product of indices and a fraction are no subscripts") {
    CHECK(run("y[i] := a[i*i] where i in 0:2", {{"a", ramp({4})}})
              .starts_with("range: the subscript `i*i` is not affine"));
    CHECK(run("y[i] := a[i/2] where i in 0:2", {{"a", ramp({4})}})
              .starts_with("syntax: a subscript is an affine term"));
    CHECK(run("y[i] := a[1.5*i] where i in 0:2", {{"a", ramp({4})}})
              .starts_with("type: a subscript is an integer"));
}

}  // namespace
}  // namespace ricci::tests
