// tests/dsl/simplify_test.cpp – the rules of simplification, one claim each
#include "dsl/simplify.h"

#include <string>

#include <doctest/doctest.h>

using namespace ricci;

namespace {

/// The right side of a one-statement program, simplified.
std::string simplified(const std::string& text, bool is_derivative = false) {
    const Program program = parse_program(text);
    const Expr value = program.equations.front().value;
    return str(program, simplify(program, value, {.is_derivative = is_derivative}));
}

}  // namespace

TEST_CASE("integer subscripts are in affine order") {
    CHECK(simplified("y[i] := A[i + 1 - 1]") == "A[i]");
    CHECK(simplified("y[i] := sum[k in 0:2](A[i + 2*(k + 1) - k])") == "sum[k](A[i+k+2])");
}

TEST_CASE("integer values are in affine order") {
    CHECK(simplified("y[i] := A[i]*(i + 1 - 1)") == "A[i]*i");
    CHECK(simplified("y[i] := A[i]*(2*(i + 1) - i)") == "A[i]*(i+2)");
}

TEST_CASE("floating terms are not reassociated") {
    CHECK(simplified("y[i] := A[i] - A[i]") == "A[i] - A[i]");
    CHECK(simplified("y[i] := A[i]*B[i] + A[i]*C[i]") == "A[i]*B[i] + A[i]*C[i]");
    CHECK(simplified("y[i] := exp(-(A[i] - B[i]))") == "exp(-(A[i] - B[i]))");
}

TEST_CASE("zero times a term stays: the term may be infinite") {
    CHECK(simplified("y[i] := 0*A[i]") == "0*A[i]");
    CHECK(simplified("y[i] := 0/A[i]") == "0/A[i]");
}

TEST_CASE("in derivatives zero annihilates and x^0 is 1") {
    CHECK(simplified("y[i] := 0*A[i]", true) == "0");
    CHECK(simplified("y[i] := 0.0*A[i] + B[i]", true) == "B[i]");
    CHECK(simplified("y[i] := 0/A[i] + 1.0*B[i]*A[i]^0", true) == "B[i]");
    CHECK(simplified("y := sum[i](0*A[i])", true) == "0");
}

TEST_CASE("signs of factors stand before the product") {
    CHECK(simplified("y[i] := (-A[i])*B[i]") == "-(A[i]*B[i])");
    CHECK(simplified("y[i] := (-A[i])*(-B[i])") == "A[i]*B[i]");
    CHECK(simplified("y[i] := C[i] + (-2)*B[i]") == "C[i] - 2*B[i]");
    CHECK(simplified("y[i] := (-A[i])/B[i]") == "-(A[i]/B[i])");
    CHECK(simplified("y[i] := A[i]/(-B[i])") == "-(A[i]/B[i])");
}

TEST_CASE("two equal terms are twice the term") {
    CHECK(simplified("y[i] := A[i]*B[i] + C[i] + A[i]*B[i]") == "2*A[i]*B[i] + C[i]");
}

TEST_CASE("three equal terms stay: three times rounds otherwise") {
    CHECK(simplified("y[i] := A[i] + A[i] + A[i]") == "A[i] + A[i] + A[i]");
}

TEST_CASE("powers") {
    CHECK(simplified("y[i] := A[i]^1") == "A[i]");
    CHECK(simplified("y[i] := (-A[i])^2") == "A[i]^2");
    CHECK(simplified("y[i] := (-A[i])^3") == "(-A[i])^3");
    CHECK(simplified("y[i] := A[i]^0") == "A[i]^0");
}

TEST_CASE("even functions drop a sign") {
    CHECK(simplified("y[i] := abs(-A[i]) + abs2(-B[i])") == "abs(A[i]) + abs2(B[i])");
}

TEST_CASE("a choice between equal branches is none") {
    CHECK(simplified("y[i] := A[i] > 0 ? B[i] : B[i]") == "B[i]");
}

TEST_CASE("a choice that was made is not made again") {
    CHECK(simplified("y[i] := A[i] > 0 ? (A[i] > 0 ? B[i] : C[i]) : D[i]", true) ==
          "A[i] > 0 ? B[i] : D[i]");
    CHECK(simplified("y[i] := A[i] > 0 ? B[i] : (A[i] > 0 ? C[i] : D[i])", true) ==
          "A[i] > 0 ? B[i] : D[i]");
    CHECK(simplified("y[i] := !(A[i] > 0) ? B[i] : C[i]") == "A[i] > 0 ? C[i] : B[i]");
}

TEST_CASE("choices by one condition are added where it holds") {
    CHECK(simplified("y[i] := (A[i] > 0 ? B[i] : 0) + (A[i] > 0 ? C[i] : 0)") ==
          "A[i] > 0 ? B[i] + C[i] : 0");
    // Another condition, another rest.
    for (const std::string stays :
         {"(A[i] > 0 ? B[i] : 0) + (A[i] > 1 ? C[i] : 0)",
          "(A[i] > 0 ? B[i] : 1) + (A[i] > 0 ? C[i] : 1)", "(A[i] > 0 ? B[i] : 0) + C[i]"})
        CHECK(simplified("y[i] := " + stays) == stays);
}

TEST_CASE("the type of the dropped branch may count: without types it stays") {
    CHECK(simplified("y[i] := true ? A[i] : B[i]") == "true ? A[i] : B[i]");
    CHECK(simplified("y[i] := true ? A[i] : B[i]", true) == "A[i]");
}

TEST_CASE("comparisons of literals are decided") {
    CHECK(simplified("y[i] := 1 < 2 ? A[i] : B[i]", true) == "A[i]");
    CHECK(simplified("y[i] := 1 < 2 && 2.5 >= 3 ? A[i] : B[i]", true) == "B[i]");
    CHECK(simplified("y[i] := nan == nan || A[i] > 0 ? A[i] : B[i]") == "A[i] > 0 ? A[i] : B[i]");
}

TEST_CASE("conditions that the ranges of their indices imply are dropped") {
    CHECK(simplified("y := sum[i | i >= 0 && i < size(x,0)](x[i])") == "sum[i](x[i])");
    CHECK(simplified("y := sum[i | i >= 0 && x[i] > 0](x[i])") == "sum[i | x[i] > 0](x[i])");
}

TEST_CASE("conditions that depend on sizes stay") {
    CHECK(simplified("y := sum[i | i < size(z,0)](x[i]) + sum[j](z[j])") ==
          "sum[i | i < size(z,0)](x[i]) + sum[j](z[j])");
}

TEST_CASE("a negated comparison turns round where NaN cannot stand") {
    CHECK(simplified("y := sum[i | !(i < 3)](x[i])") == "sum[i | i >= 3](x[i])");
    CHECK(simplified("y := sum[i | !(x[i] < 3)](x[i])") == "sum[i | !(x[i] < 3)](x[i])");
    CHECK(simplified("y := sum[i | !(x[i] == 3)](x[i])") == "sum[i | x[i] != 3](x[i])");
}

TEST_CASE("bounds of a valid convolution follow from its ranges") {
    const Program program = parse_program("O[i] := A[i+k]*F[k]");
    Context& context = *program.context;
    const auto& reduce = std::get<Reduce>(program.equations[0].value->term);
    const Expr place = context.add(context.index(program.equations[0].indices[0]),
                                   context.index(reduce.indices[0]));
    const TensorId a = *program.argument("A");
    CHECK(is_always_true(program, context.apply(Op::lt, {place, context.size(a, 0)})));
    CHECK(is_always_true(program, context.apply(Op::ge, {place, context.integer(0)})));
    CHECK(is_always_false(program, context.apply(Op::gt, {place, context.size(a, 0)})));
    CHECK_FALSE(is_always_true(program, context.apply(Op::ge, {place, context.integer(1)})));
}
