// tests/language/ranks_test.cpp – programs that serve arrays of any rank
#include <doctest/doctest.h>

#include "tests/language/run_program.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

const char* const linear = "Y[..,o] := W[o,k]*X[..,k] + b[o]";

Arguments linear_arguments(Shape shape) {
    return {{"W", reals({1, 2, 3, 4}).reshape({2, 2})},
            {"X", ramp(std::move(shape))},
            {"b", reals({10, 20})}};
}

TEST_CASE("`..` is the run of dimensions that are not written out, possibly none") {
    CHECK(run(linear, linear_arguments({2})) == "[12, 24]");
    CHECK(run(linear, linear_arguments({2, 2})) == "[[12, 24],\n [18, 38]]");
    CHECK(run(linear, linear_arguments({1, 2, 2})) == "[[[12, 24],\n  [18, 38]]]");
    CHECK(run("Y[..] := 2*X[..]", {{"X", Array::full(DType::f64, {}, 3)}}) == "6");
}

TEST_CASE("one function serves arrays of several ranks") {
    const Function f = compile(linear);
    const Array W = reals({1, 2, 3, 4}).reshape({2, 2});
    const Array b = reals({10, 20});
    CHECK(str(f(W, ramp({2}), b)) == "[12, 24]");
    CHECK(f(W, ramp({3, 4, 2}), b).shape() == Shape{3, 4, 2});
    CHECK(f(W, ramp({1, 2}), b).shape() == Shape{1, 2});
}

TEST_CASE("a run may stand anywhere in an access") {
    CHECK(run("Y[i,..] := X[..,i]", {{"X", ramp({2, 1, 2})}}) ==
          "[[[0],\n  [2]],\n\n [[1],\n  [3]]]");
    CHECK(run("Y[i,..,j] := X[i,..,j]*v[j]", {{"X", ramp({1, 2, 2})}, {"v", reals({1, 2})}}) ==
          "[[[0, 2],\n  [2, 6]]]");
    CHECK(run("Y[..] := X[0,..] + X[end,..]", {{"X", ramp({3, 2})}}) == "[4, 6]");
}

TEST_CASE("a run that is not on the left is summed") {
    CHECK(run("s := X[..]", {{"X", ramp({2, 3})}}) == "15");
    CHECK(run("s := X[..]*Z[..]", {{"X", ramp({2, 2})}, {"Z", ramp({2, 2})}}) == "14");
    CHECK(run("y[k] := X[..,k]", {{"X", ramp({2, 2, 2})}}) == "[12, 16]");
}

TEST_CASE("each statement has a run of its own") {
    CHECK(run("M[..] := max[k](X[..,k]); Y[..,k] := X[..,k] - M[..]", {{"X", ramp({2, 3})}}) ==
          "[[-2, -1,  0],\n [-2, -1,  0]]");
    CHECK(run("S[..,q,k] := X[..,q]*X[..,k]; y[..] := max[k](S[..,k])", {{"X", ramp({1, 3})}}) ==
          "[[0, 2, 4]]");
}

TEST_CASE("all runs of a statement are the same dimensions") {
    CHECK(run("Y[..] := X[..]*Z[..]", {{"X", ramp({2, 3})}, {"Z", ramp({3})}}) ==
          "shape: `..` stands for 2 dimensions and for 1\n"
          "  | Y[..] := X[..]*Z[..]\n"
          "  |          ~~~~~ ^^^^^\n"
          "  |          |     1 of `Z`\n"
          "  |          2 of `X`\n"
          "  = hint: all `..` of a statement stand for the same dimensions");
    CHECK(run("Y[..] := X[..]*Z[..]", {{"X", ramp({2, 3})}, {"Z", ramp({1, 3})}})
              .starts_with("shape: a dimension of `..` has two extents, 2 and 1\n"));
    CHECK(run("Y[..,i,j] := X[..,i,j]", {{"X", ramp({2})}}) ==
          "shape: `X` has 1 dimension, and 2 are written out\n"
          "  | Y[..,i,j] := X[..,i,j]\n"
          "  |              ^^^^^^^^^\n"
          "  = hint: give `X` at least 2 dimensions");
    CHECK(run("Y[..,..] := X[..]", {{"X", ramp({2})}})
              .starts_with("syntax: `..` stands twice in the target `Y`"));
    CHECK(run("Y[..] := X[..,i,..]", {{"X", ramp({2})}})
              .starts_with("syntax: `..` stands twice in one access of `X`"));
    CHECK(run("Y[i] := X[i+..]", {{"X", ramp({2})}}).starts_with("syntax: expected an expression"));
}

TEST_CASE("sizes count the dimensions that are there") {
    CHECK(run("y := X[..]/size(X,-1)", {{"X", ramp({2, 4})}}) == "7");
    CHECK(run("y := X[..]/size(X,0)", {{"X", ramp({2, 4})}}) == "14");
    CHECK(run("Y[..] := X[..]*size(X,2)", {{"X", ramp({1, 1, 2})}}) == "[[[0, 2]]]");
    CHECK(run("y[i] := size(A,0)*i + size(A,-1) where i in 0:2", {{"A", ramp({2, 3})}}) ==
          "[3, 5]");
    for (const Shape& shape : {Shape{2, 3}, Shape{5, 2, 3}})
        CHECK(run("y[i] := i + size(A,-1) where i in 0:size(A,-2)", {{"A", ramp(shape)}}) ==
              "[3, 4]");
}

TEST_CASE("a program of runs updates arrays") {
    CHECK(run("X[..] += 1", {{"X", ramp({2, 2})}}) == "[[1, 2],\n [3, 4]]");
    CHECK(run("X[J[n],..] += Z[n,..]",
              {{"X", ramp({2, 2})}, {"Z", ramp({3, 2})}, {"J", keys({1, 0, 1})}}) ==
          "[[2, 4],\n [6, 9]]");
}

TEST_CASE("gradients of programs of runs serve any rank too") {
    const Function f = compile(linear);
    const Function dX = f.grad("X");
    const Array W = reals({1, 2, 3, 4}).reshape({2, 2});
    for (const Shape& shape : {Shape{2}, Shape{3, 2}, Shape{2, 1, 3, 2}}) {
        const Array dY = Array::randn(DType::f64, shape, 3);
        const Array found = dX({{"W", W}, {"X", Array::zeros(DType::f64, shape)}, {"dY", dY}});
        REQUIRE(found.shape() == shape);
        const auto d = found.span<const double>();
        const auto y = dY.span<const double>();
        for (std::size_t n = 0; n < y.size(); n += 2) {
            CHECK(d[n] == doctest::Approx(y[n] + 3 * y[n + 1]));
            CHECK(d[n + 1] == doctest::Approx(2 * y[n] + 4 * y[n + 1]));
        }
    }
    CHECK(str(dX) == "dX[r1,k] := dY[r1,o]*W[o,k]");
}

}  // namespace
}  // namespace ricci::tests
