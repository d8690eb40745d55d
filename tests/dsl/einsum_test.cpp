// tests/dsl/einsum_test.cpp – numpy's notation: programs made, errors told
#include "dsl/einsum.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_text.h"

namespace ricci {
namespace {

std::string program(const std::string& text, const std::vector<Shape>& shapes) {
    return translate_einsum(make_source(text), shapes).program;
}
std::string error(const std::string& text, const std::vector<Shape>& shapes) {
    return tests::error_text([&] { (void)program(text, shapes); });
}

TEST_CASE("an explicit output sums what it does not name") {
    CHECK(program("ij,jk->ik", {{2, 3}, {3, 4}}) == "Y0[i,k] := sum[j](A0[i,j]*A1[j,k])");
    CHECK(program("ij->ji", {{2, 3}}) == "Y0[j,i] := A0[i,j]");
    CHECK(program("ij->", {{2, 3}}) == "Y0[] := sum[i,j](A0[i,j])");
}

TEST_CASE("an implicit output has the letters that occur once, in order") {
    CHECK(program("ij,jk", {{2, 3}, {3, 4}}) == "Y0[i,k] := sum[j](A0[i,j]*A1[j,k])");
    CHECK(program("ba", {{2, 3}}) == "Y0[a,b] := A0[b,a]");
    CHECK(program("ii", {{3, 3}}) == "Y0[] := sum[i](A0[i,i])");
}

TEST_CASE("a repeated letter in one term is a diagonal") {
    CHECK(program("ii->i", {{3, 3}}) == "Y0[i] := A0[i,i]");
}

TEST_CASE("the dimensions of an ellipsis are aligned at their ends") {
    CHECK(program("...ij,...jk->...ik", {{7, 5, 2, 3}, {5, 3, 4}}) ==
          "Y0[d2,d1,i,k] := sum[j](A0[d2,d1,i,j]*A1[d1,j,k])");
    CHECK(program("...i", {{5, 2}}) == "Y0[d1,i] := A0[d1,i]");
    CHECK(program("i...->...", {{2}}) == "Y0[] := sum[i](A0[i])");
}

TEST_CASE("an extent of 1 is repeated") {
    CHECK(program("ij,ij->ij", {{2, 1}, {1, 3}}) == "Y0[i,j] := A0[i,0]*A1[0,j]");
    CHECK(program("...,...", {{1, 4}, {4}}) == "Y0[d2,d1] := A0[d2,d1]*A1[d1]");
    CHECK(program("i,i", {{1}, {1}}) == "Y0[] := sum[i](A0[i]*A1[i])");
}

TEST_CASE("scalars and blanks are legal") {
    CHECK(program(" , i -> i ", {{}, {3}}) == "Y0[i] := A0*A1[i]");
}

TEST_CASE("two extents of one letter are an error") {
    CHECK(error("ij,jk->ik", {{2, 3}, {4, 5}}) ==
          "shape: `j` has two extents, 3 and 4\n"
          "  | ij,jk->ik\n"
          "  |  ^ ~\n"
          "  |  | 4 here: dimension 0 of operand 1 [4, 5]\n"
          "  |  3 here: dimension 1 of operand 0 [2, 3]");
}

TEST_CASE("malformed texts are errors with their place") {
    CHECK(error("ij-jk", {{2, 3}}) ==
          "syntax: `-` has no meaning here\n"
          "  | ij-jk\n"
          "  |   ^\n"
          "  = hint: letters, `,`, `...` and one `->`, as in `ij,jk->ik`");
    CHECK(error("i\u00e9", {{2, 3}}) ==
          "syntax: `\u00e9` has no meaning here\n"
          "  | i\u00e9\n"
          "  |  ^\n"
          "  = hint: letters, `,`, `...` and one `->`, as in `ij,jk->ik`");
    CHECK(error("ij->ik", {{2, 3}}) ==
          "name: `k` stands in the output and in no operand\n"
          "  | ij->ik\n"
          "  |      ^");
    CHECK(error("ij->ii", {{2, 3}}) ==
          "syntax: `i` stands twice in the output\n"
          "  | ij->ii\n"
          "  |     ~^");
    CHECK(error("ij,jk", {{2, 3}}) ==
          "syntax: 2 operands in the text, 1 array given\n"
          "  | ij,jk\n"
          "  | ^^^^^");
    CHECK(error("ijk->i", {{2, 3}}) ==
          "shape: operand 0 has 2 dimensions, its term names 3\n"
          "  | ijk->i\n"
          "  | ^^^\n"
          "  | operand 0: [2, 3]\n"
          "  = hint: a letter for each dimension, or `...` for those not named");
    CHECK(error("......", {{2, 3}}) ==
          "syntax: `...` stands twice in a term\n"
          "  | ......\n"
          "  |    ^^^");
    CHECK(error("i...->i", {{2, 3}}) ==
          "syntax: the operands have dimensions of `...`, the output has none\n"
          "  | i...->i\n"
          "  |       ^\n"
          "  = hint: put `...` into the output, or name the dimensions");
}

}  // namespace
}  // namespace ricci
