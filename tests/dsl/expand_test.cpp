// tests/dsl/expand_test.cpp – sums of products of differences as sums of plain products
#include "dsl/expand.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/equations_text.h"
#include "tests/support/error_text.h"

using namespace ricci;
using tests::error_text;

namespace {

std::string expanded(const std::string& text) {
    return tests::equations_text(expand(parse_program(text)));
}

}  // namespace

TEST_CASE("squared distances are two row sums and a contraction, which comes last") {
    CHECK(expanded("D[i,j] := (W[k,i]-X[k,j])^2") ==
          "t1[i] := sum[k](W[k,i]*W[k,i])\n"
          "t2[j] := sum[k](X[k,j]*X[k,j])\n"
          "t3[i,j] := sum[k](W[k,i]*X[k,j])\n"
          "D[i,j] := t1[i] + t2[j] - 2*t3[i,j]\n");
    CHECK(expanded("D[i,j] := sum[k](c[k]*(W[k,i]-X[k,j])^2/(2*s[k]))") ==
          "t1[i] := sum[k](c[k]*W[k,i]*W[k,i]/(2*s[k]))\n"
          "t2[j] := sum[k](c[k]*X[k,j]*X[k,j]/(2*s[k]))\n"
          "t3[i,j] := sum[k](c[k]*W[k,i]*X[k,j]/(2*s[k]))\n"
          "D[i,j] := t1[i] + t2[j] - 2*t3[i,j]\n");
}

TEST_CASE(
    "the gradient of a distance is a contraction and a sum in front of what it does not change") {
    CHECK(expanded("dW[k,i] := sum[j](2*(W[k,i]-X[k,j])*dD[i,j])") ==
          "t1[i] := sum[j](dD[i,j])\n"
          "t2[k,i] := sum[j](X[k,j]*dD[i,j])\n"
          "dW[k,i] := t1[i]*2*W[k,i] - t2[k,i]*2\n");
}

TEST_CASE("each product is summed over what it depends on, times the points of the rest") {
    CHECK(expanded("s := sum[i,j](x[i]+y[j])") ==
          "t1 := sum[i](x[i])\n"
          "t2 := sum[j](y[j])\n"
          "s := t1*size(y,0) + t2*size(x,0)\n");
    CHECK(expanded("s[j] := sum[i in 0:5](x[i]+y[j])") ==
          "t1 := sum[i in 0:5](x[i])\n"
          "s[j] := t1 + y[j]*5\n");
}

TEST_CASE("factors that a sum does not change stand in front of it") {
    CHECK(expanded("D[i,j] := sum[k](exp(w[i])*(A[i,k] + B[k,j]))") ==
          "t1[i] := sum[k](A[i,k])\n"
          "t2[j] := sum[k](B[k,j])\n"
          "D[i,j] := t1[i]*exp(w[i]) + t2[j]*exp(w[i])\n");
    CHECK(expanded("d[i] := sum[j | m[j] > 0](x[i] - y[j])") ==
          "t1 := sum[j | m[j] > 0](1)\n"
          "t2 := sum[j | m[j] > 0](y[j])\n"
          "d[i] := t1*x[i] - t2\n");
}

TEST_CASE("what stands at a place that is data stays in its sum, where it may not be read") {
    CHECK(expanded("D[i,j] := sum[k | m[k] > 0]((x[J[i]] - A[j,k])^2)") ==
          "t1[i] := sum[k | m[k] > 0](x[J[i]]*x[J[i]])\n"
          "t2[j] := sum[k | m[k] > 0](A[j,k]*A[j,k])\n"
          "t3[i,j] := sum[k | m[k] > 0](x[J[i]]*A[j,k])\n"
          "D[i,j] := t1[i] + t2[j] - 2*t3[i,j]\n");
    CHECK(expanded("d[i] := sum[k](x[J[i]] - A[k])") ==
          "t1 := sum[k](A[k])\n"
          "t2[i] := sum[k](x[J[i]])\n"
          "d[i] := -t1 + t2[i]\n");
}

TEST_CASE(
    "a sum stays as it is where nothing is won or reads may be kept inside by its condition") {
    for (const char* text :
         {"Y[i,j] := sum[k](W[i,k]*(X[j,k] - m[k]))\n",       // no part has fewer indices
          "s := sum[i,j]((x[i] - y[j])^3)\n",                 // two products of all
          "D[i,j] := sum[k | k < i]((W[k,i] - X[k,j])^2)\n",  // a triangle
          "D[i,j] := max[k]((W[k,i] - X[k,j])^2)\n",          // no sum
          "G[i,j] := sum[k](exp(-(W[k,i] - X[k,j])^2))\n",    // no product
          "p[i,j] := sum[k]((a[i] + b[j] + c[k] + d[i] + e[j] + f[k])^4)\n"})  // too many products
        CHECK(expanded(text) == std::string(text));
}

TEST_CASE("a program for any ranks is expanded for each") {
    const Program program = expand(parse_program("D[i,j,..] := (W[k,i,..]-X[k,j,..])^2"));
    REQUIRE(program.for_ranks);
    CHECK(str(program.for_ranks({{"W", 2}, {"X", 2}})) ==
          "D[i,j] := W[k,i]*W[k,i] + X[k,j]*X[k,j] - 2*sum[k](W[k,i]*X[k,j])");
}

TEST_CASE("arrays of several types, of integers and of half precision are refused") {
    const Program program = expand(parse_program("D[i,j] := (W[k,i]-X[k,j])^2 * s"));
    const auto with = [&](DType w, DType x) {
        return [&program, w, x] {
            ArgumentSpec W;
            W.dtype = w;
            ArgumentSpec X;
            X.dtype = x;
            ArgumentSpec number;
            number.dtype = DType::f64;
            number.is_weak = true;
            require_one_type(program, {{"W", W}, {"X", X}, {"s", number}});
        };
    };
    for (const DType type : {DType::f32, DType::f64, DType::c64, DType::c128})
        CHECK(error_text(with(type, type)) == "no error");
    CHECK(
        error_text(with(DType::f32, DType::f64)) ==
        "type: sums are multiplied out for arrays of one type, f32, f64, c64 or c128: `X` is f64, "
        "`W` is f32\n"
        "  | D[i,j] := (W[k,i]-X[k,j])^2 * s\n"
        "  |                   ^\n"
        "  = hint: convert the arrays before, or take the program as it stands");
    CHECK(error_text(with(DType::i8, DType::f32))
              .starts_with("type: sums are multiplied out for arrays of one type, f32, f64, c64 or "
                           "c128: `W` is i8\n"));
    CHECK(error_text(with(DType::bf16, DType::bf16)).starts_with("type: "));
    CHECK(error_text(with(DType::boolean, DType::boolean)).starts_with("type: "));
}
