// tests/dsl/builder_test.cpp – programs written with C++ operators say what the same text says
#include "dsl/builder.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "dsl/canonical.h"
#include "dsl/program.h"

namespace ricci::builder {
namespace {

const Index i("i"), j("j"), k("k"), n("n"), o("o");
const Tensor A("A"), B("B"), C("C"), X("X"), W("W"), b("b"), Y("Y"), Z("Z"), J("J");

/// What the language makes of the statement.
std::string meaning(std::string_view text) {
    return str(canonicalise(parse_program(std::string(text))));
}

TEST_CASE("a program of operators is the program of the text") {
    CHECK(meaning(C(i, j) = sum(k, A(i, k) * B(k, j))) ==
          meaning("C[i,j] := sum[k](A[i,k]*B[k,j])"));
    CHECK(meaning(Y(n, o) = W(o, k) * X(n, k) + b(o)) == meaning("Y[n,o] := W[o,k]*X[n,k] + b[o]"));
    CHECK(meaning(program(Z(n, o) = W(o, k) * X(n, k) + b(o), Y(n, o) = relu(Z(n, o)))) ==
          meaning("Z[n,o] := W[o,k]*X[n,k] + b[o]; Y[n,o] := relu(Z[n,o])"));
    CHECK(meaning(Y(i) = A(i)) == meaning("Y[i] := A[i]"));
}

TEST_CASE("operators keep the order of C++") {
    const Term a("a", Precedence::primary), c("c", Precedence::primary),
        d("d", Precedence::primary);
    CHECK((a - (c - d)).text() == "a - (c - d)");
    CHECK((a - c - d).text() == "a - c - d");
    CHECK(((a + c) * d).text() == "(a + c) * d");
    CHECK((a / (c * d)).text() == "a / (c * d)");
    CHECK((a * c % d).text() == "a * c % d");
    CHECK((-(a + c)).text() == "-(a + c)");
    CHECK(pow(-a, 2).text() == "(-a)^2");
    CHECK((-pow(a, 2)).text() == "-a^2");
    CHECK(pow(pow(a, c), d).text() == "(a^c)^d");
    CHECK(((a < c && !(c == d)) || d > 0).text() == "a < c && !(c == d) || d > 0");
    CHECK(select(a > 0, a, select(c > 0, c, d)).text() == "a > 0 ? a : c > 0 ? c : d");
    CHECK((select(a > 0, a, c) + d).text() == "(a > 0 ? a : c) + d");
    CHECK(floordiv(a + 1, 2).text() == "(a + 1) // 2");
}

TEST_CASE("numbers of C++ are numbers of their kind") {
    CHECK(Term(2).text() == "2");
    CHECK(Term(2.0).text() == "2.0");
    CHECK(Term(0.1F).text() == "0.10000000149011612");
    CHECK(Term(1e300).text() == "1e+300");
    CHECK(Term(true).text() == "true");
    CHECK((3 - Term(-2)).text() == "3 - -2");
    CHECK((-Term(-2.5)).text() == "-(-2.5)");
    CHECK(Term(1 / 0.0).text() == "inf");
}

TEST_CASE("reducers have ranges and conditions") {
    CHECK(sum(k.in(0, 3), A(i, k)).text() == "sum[k in 0:3](A[i,k])");
    CHECK(max({j, k}, A(j, k)).text() == "max[j,k](A[j,k])");
    CHECK(max(k, A(i, k)).text() == "max[k](A[i,k])");
    CHECK(maximum(A(i), 0).text() == "max(A[i], 0)");
    CHECK(sum(Over(k).when(k <= i), A(i, k)).text() == "sum[k | k <= i](A[i,k])");
    CHECK(argmax(k, A(i, k)).text() == "argmax[k](A[i,k])");
}

TEST_CASE("subscripts are those of the language") {
    CHECK((Y(i) = A(2 * i + k) * A(J(i)) * A(end) * B(pad(i - 1, 1), wrap(i + 1))).text() ==
          "Y[i] := A[2 * i + k] * A[J[i]] * A[end] * B[pad(i - 1, 1),wrap(i + 1)]");
    CHECK((Y(from_first(i), any_place) = A(i + Scalar("s"))).text() == "Y[i+_,_] := A[i + $s]");
    CHECK((Y(rest) = A(rest) * A.size(0)).text() == "Y[..] := A[..] * size(A,0)");
    CHECK(call("i64", {A(i)}).text() == "i64(A[i])");
}

TEST_CASE("statements update, and have ranges") {
    CHECK((Y(i) += A(i)).text() == "Y[i] += A[i]");
    CHECK((Y(i) -= 1).text() == "Y[i] -= 1");
    CHECK((Y(i) *= 2).text() == "Y[i] *= 2");
    CHECK(Y(J(i)).set(A(i)).text() == "Y[J[i]] = A[i]");
    CHECK(Y(i).set_max(A(i, k)).text() == "Y[i] max= A[i,k]");
    CHECK((Y(i) = A(i + j)).where(i.in(0, 3), j.in(0, A.size(0) - 3)).text() ==
          "Y[i] := A[i + j] where i in 0:3, j in 0:size(A,0) - 3");
}

TEST_CASE("an error points into the text that was built") {
    std::string text;
    try {
        (void)parse_program(Y(i) = A(i) + call("sine", {B(i)}));
    } catch (const Error& error) {
        text = error.what();
    }
    CHECK(text ==
          "name: there is no function `sine`\n"
          "  | Y[i] := A[i] + sine(B[i])\n"
          "  |                ^^^^\n"
          "  = hint: did you mean `sin`?");
}

}  // namespace
}  // namespace ricci::builder
