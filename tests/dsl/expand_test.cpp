// tests/dsl/expand_test.cpp – sums of products of differences as sums of plain products
#include "dsl/expand.h"

#include <string>

#include <doctest/doctest.h>

using namespace ricci;

namespace {

std::string expanded(const std::string& text) {
    const Program program = expand(parse_program(text));
    std::string result;
    for (const Equation& equation : program.equations) result += str(program, equation) + "\n";
    return result;
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
          "t2[j] := sum[i in 0:5](y[j])\n"
          "s[j] := t1 + t2[j]\n");
}

TEST_CASE("arithmetic that may be of integers stays in the sum, which does it in 64 bits") {
    CHECK(expanded("D[i,j] := sum[k](abs(w[i])*(A[i,k] + B[k,j]))") ==
          "t1[i] := sum[k](abs(w[i])*A[i,k])\n"
          "t2[i,j] := sum[k](abs(w[i])*B[k,j])\n"
          "D[i,j] := t1[i] + t2[i,j]\n");
    CHECK(expanded("D[i,j] := sum[k](exp(w[i])*(A[i,k] + B[k,j]))") ==
          "t1[i] := sum[k](A[i,k])\n"
          "t2[j] := sum[k](B[k,j])\n"
          "D[i,j] := t1[i]*exp(w[i]) + t2[j]*exp(w[i])\n");
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
