// tests/dsl/infer_test.cpp – ranges of indices by the rules of docs/language.md §4
#include <doctest/doctest.h>

#include "dsl/program.h"
#include "tests/support/error_text.h"

using ricci::Index;
using ricci::parse_program;
using ricci::Program;
using ricci::tests::error_text;

namespace {

/// `lower:upper` of the index of that name, as the program prints it.
std::string range_of(const std::string& text, std::string_view name) {
    const Program program = parse_program(text);
    for (const Index& index : program.indices)
        if (index.name == name && index.lower)
            return str(program, index.lower) + ":" + str(program, index.upper);
    return "none";
}

std::string error_of(const std::string& text) {
    return error_text([&] { (void)parse_program(text); });
}

}  // namespace

TEST_CASE("a plain subscript gives the extent") {
    CHECK(range_of("y[i] := A[i,k]", "k") == "0:size(A,1)");
}

TEST_CASE("a compound subscript with one index restricts that index") {
    CHECK(range_of("d[i] := p[i+1] - p[i]", "i") == "0:size(p,0)-1");
    CHECK(range_of("B[i] := A[2*i+1] + A[i]", "i") == "0:min(size(A,0), (size(A,0)-2)//2+1)");
}

TEST_CASE("an unknown index is solved from a compound whose other indices are known") {
    CHECK(range_of("C[o] := A[o+k]*F[k]", "o") == "0:size(A,0)-size(F,0)+1");
    CHECK(range_of("C[o] := A[2*o+k]*F[k]", "o") == "0:(size(A,0)-size(F,0))//2+1");
}

TEST_CASE("a negative coefficient is solved from the other side") {
    CHECK(range_of("C[o+_] := A[k-o]*F[k]", "o") == "size(F,0)-size(A,0):1");
}

TEST_CASE("an index divided by a number runs over the multiple of the extent") {
    CHECK(range_of("Y[i] := X[i//3]", "i") == "0:3*size(X,0)");
}

TEST_CASE("a range given in where is taken as it is") {
    CHECK(range_of("Y[i] := X[i] where i in 0:4", "i") == "0:4");
    CHECK(range_of("Y[i] := sum[k in 1:3](X[i,k])", "k") == "1:3");
}

TEST_CASE("an index that nothing bounds is an error") {
    CHECK(error_of("Y[i] := 2*i") == R"(range: nothing bounds the index `i`
  | Y[i] := 2*i
  |   ^
  = hint: give it a range: `where i in 0:N`)");
    CHECK(error_of("Y[i] := X[i+j]") ==
          R"(range: nothing bounds the index `i`: `j` has no range either
  | Y[i] := X[i+j]
  |   ^
  = hint: give it a range: `where i in 0:N`)");
}

TEST_CASE("a where range that nothing uses is an error") {
    CHECK(error_of("Y[i] := X[i] where j in 0:4")
              .starts_with("range: the statement has no index `j`"));
}
