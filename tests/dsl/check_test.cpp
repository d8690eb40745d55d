// tests/dsl/check_test.cpp – names, ranks and implied sums of programs
#include <doctest/doctest.h>

#include "dsl/program.h"
#include "tests/support/error_text.h"

using ricci::parse_program;
using ricci::Program;
using ricci::tests::error_text;

namespace {

std::string explicit_form(const std::string& text) {
    const Program program = parse_program(text);
    return str(program, program.equations.back());
}

std::string error_of(const std::string& text) {
    return error_text([&] { (void)parse_program(text); });
}

}  // namespace

TEST_CASE("each term is summed over the indices that it alone has") {
    CHECK(explicit_form("Y[n,o] := W[o,k]*X[n,k] + b[o]") ==
          "Y[n,o] := sum[k](W[o,k]*X[n,k]) + b[o]");
    CHECK(explicit_form("c[i] := a[i] + M[i,j]*w[j]") == "c[i] := a[i] + sum[j](M[i,j]*w[j])");
    CHECK(explicit_form("y[i] := exp(A[i,k])") == "y[i] := sum[k](exp(A[i,k]))");
    CHECK(explicit_form("D[i,j] := (w[k,i] - x[k,j])^2") ==
          "D[i,j] := sum[k]((w[k,i] - x[k,j])^2)");
}

TEST_CASE("parentheses that only group a sum are looked through, others are not") {
    CHECK(explicit_form("y[i] := a[i] - (b[i] + M[i,j])") ==
          "y[i] := a[i] - b[i] - sum[j](M[i,j])");
    CHECK(explicit_form("y[i] := 2*(a[i] + M[i,j])") == "y[i] := sum[j](2*(a[i] + M[i,j]))");
}

TEST_CASE("the reducer of an update follows its operator and takes the whole right side") {
    CHECK(explicit_form("P[i] *= A[i,k] + 1") == "P[i] *= prod[k](A[i,k] + 1)");
    CHECK(explicit_form("M[i] max= A[i,k] - c[k]") == "M[i] max= max[k](A[i,k] - c[k])");
}

TEST_CASE("a where-local is inlined before terms are formed") {
    CHECK(explicit_form("B[i] := u + c[i] where u = a[i,k]*b[k]") ==
          "B[i] := sum[k](a[i,k]*b[k]) + c[i]");
    CHECK(explicit_form("B[i] := sum[k](u*b[k]) where u = a[i,k]") ==
          "B[i] := sum[k](a[i,k]*b[k])");
}

TEST_CASE("a def is a scalar function that is inlined") {
    CHECK(explicit_form("def sq(x) = x*x\ny[i] := sq(a[i] - 1)") ==
          "y[i] := (a[i] - 1)*(a[i] - 1)");
}

TEST_CASE("arguments stand in order of first appearance") {
    const Program program = parse_program("Y[i] := u*X[i] + size(Z, 0) where u = a[i]*s");
    std::vector<std::string> names;
    for (ricci::TensorId id : program.arguments) names.push_back(program.at(id).name);
    CHECK(names == std::vector<std::string>{"X", "Z", "a", "s"});
}

TEST_CASE("an implied sum that could reach around an addition is an error with both readings") {
    CHECK(error_of("Y[n,o] := relu(W[o,k]*X[n,k] + b[o])") ==
          R"(syntax: the implied sum over `k` could reach around an addition or stop inside it
  | Y[n,o] := relu(W[o,k]*X[n,k] + b[o])
  |                ^^^^^^^^^^^^^   ~~~~
  |                |               `k` does not occur here
  |                `k` is contracted here
  = hint: write `relu(sum[k](W[o,k]*X[n,k]) + b[o])` or `sum[k](relu(W[o,k]*X[n,k] + b[o]))`)");
    CHECK(error_of("y[i] := (A[i,k]*x[k] + b[i]) / 2").starts_with("syntax: the implied sum"));
    CHECK(error_of("P[i,j] := exp(Q[i,d]*K[j,d] - m[i])").starts_with("syntax: the implied sum"));
}

TEST_CASE("an addition that contracts nothing is summed outside") {
    CHECK(explicit_form("v[i] := (x[i,k] - m[i])^2") == "v[i] := sum[k]((x[i,k] - m[i])^2)");
    CHECK(explicit_form("v[i] := exp(A[i,k] - m[i])") == "v[i] := sum[k](exp(A[i,k] - m[i]))");
}

TEST_CASE("a reducer binds no name that is bound around it") {
    CHECK(error_of("y[i] := sum[j](B[i,j]) / A[j]") ==
          R"(name: `j` is bound by a reducer and also summed over the whole term
  | y[i] := sum[j](B[i,j]) / A[j]
  |         ^^^^^^^^^^^^^^
  |         `j` is bound here
  = hint: give the reducer's index another name, or move all of the term into `sum[j](…)`)");
    CHECK(error_of("y[i] := sum[i](B[i])") == R"(name: `i` is bound already
  | y[i] := sum[i](B[i])
  |             ^
  = hint: the target binds it: give the reducer's index another name)");
    CHECK(explicit_form("C[i,j] := sum[k](B[i,k]) + A[i,k]*D[k,j]") ==
          "C[i,j] := sum[k](B[i,k]) + sum[k](A[i,k]*D[k,j])");
}

TEST_CASE("an unknown function is named with the nearest one") {
    CHECK(error_of("y[i] := rleu(A[i])") == R"(name: there is no function `rleu`
  | y[i] := rleu(A[i])
  |         ^^^^
  = hint: did you mean `relu`?)");
}

TEST_CASE("an array has one rank") {
    CHECK(error_of("y[i] := A[i] + A[i,i]") == R"(shape: `A` has 2 and 1 subscripts
  | y[i] := A[i] + A[i,i]
  |         ~      ^
  |         |      2 subscripts here
  |         1 subscript here
  = hint: give `A` 1 subscript everywhere)");
}

TEST_CASE("`:=` makes a new array") {
    CHECK(error_of("y[i] := A[i]; y[i] := 2*A[i]") ==
          R"(name: `y` exists already; `:=` makes a new array
  | y[i] := A[i]; y[i] := 2*A[i]
  |               ^
  = hint: choose another name, or update it with `=` or `+=`)");
}

TEST_CASE("an updated array is read only at the place that is written") {
    CHECK(error_of("A[i,j] = A[j,i]") ==
          R"(range: `A` is read at another place than it is written
  | A[i,j] = A[j,i]
  | ~~~~~~   ^^^^^^
  | |        read here
  | written here
  = hint: copy it first, or make a new array with `:=`)");
    CHECK_NOTHROW((void)parse_program("A[i] = A[i] + 1"));
}

TEST_CASE("a long sum is checked without recursion") {
    std::string text = "y[i] := A[i]";
    for (int n = 0; n < 20000; ++n) text += " + A[i]";
    CHECK_NOTHROW((void)parse_program(text));
}
