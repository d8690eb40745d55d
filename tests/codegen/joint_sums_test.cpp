// tests/codegen/joint_sums_test.cpp – reductions over the same points in the same loops
#include <string>

#include <doctest/doctest.h>

#include "codegen/contraction_order.h"
#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

/// Whether reductions share loops, on a machine with a small cache unless said.
bool are_joint(const std::string& text, const Signature& signature, std::int64_t l2_bytes = 1024,
               Forced forced = Forced::nothing) {
    return has_directive("over the same points", text, signature, l2_bytes, forced);
}

TEST_CASE("sums of columns that read the same array share loops") {
    const std::string text = "a[j] := A[i,j]*B[i,j]; b[j] := A[i,j]; y[i,j] := a[j]*A[i,j] + b[j]";
    // Rows several at a time, with some left over; columns in registers; two levels of both.
    for (const Shape& shape : {Shape{99, 1041}, Shape{40, 300}, Shape{2000, 33}, Shape{5000, 7}}) {
        const auto A = array(shape);
        CHECK(are_joint(text, {{"A", A}, {"B", A}}));
        CHECK(are_joint(text, {{"A", A}, {"B", A}}, 1024, Forced::two_levels));
    }
    CHECK(are_joint(text, {{"A", array({99, 1041}, DType::f64)}, {"B", array({99, 1041})}}));
}

TEST_CASE("so do sums of channels and other reducers") {
    const auto X = array({3, 4, 10, 11});
    CHECK(
        are_joint("a[c] := sum[n,y,x](X[n,c,y,x]*Z[n,c,y,x]); b[c] := sum[n,y,x](X[n,c,y,x])\n"
                  "y[n,c,y,x] := X[n,c,y,x]*a[c] - b[c]",
                  {{"X", X}, {"Z", X}}, 1024, Forced::no_chains));
    const auto A = array({40, 40});
    CHECK(
        are_joint("a[j] := max[i](A[i,j]); b[j] := min[i](A[i,j]); c[j] := sum[i](A[i,j])\n"
                  "y[i,j] := a[j] + b[j]*A[i,j] + c[j]",
                  {{"A", A}}));
}

TEST_CASE("the sums that the gradient of a norm needs share loops") {
    const std::string norm =
        "m[k] := mean[i](X[i,k]); v[k] := mean[i]((X[i,k]-m[k])^2)\n"
        "t[k] := sum[i](dY[i,k]*(X[i,k] - m[k])/sqrt(v[k] + 1/10)); u[k] := sum[i](dY[i,k])\n"
        "Z[i,k] := dY[i,k] - u[k] - X[i,k]*t[k]";
    CHECK(are_joint(norm, {{"X", array({300, 70})}, {"dY", array({300, 70})}}));
}

TEST_CASE("passes over rows that need nothing of each other are one loop") {
    const std::string text =
        "a[i] := exp(A[i,j])*B[j]; b[i] := exp(A[i,j])*C[j]; y[k,i] := a[i]*b[k]";
    const Signature signature = {{"A", array({60, 90})}, {"B", array({90})}, {"C", array({90})}};
    CHECK(are_joint(text, signature));
    // Of rows with results of each other passes keep what caches hold.
    CHECK(!are_joint("a[i] := max[j](A[i,j]); b[i] := exp(A[i,j]-a[i])*B[j]*C[j]", signature));
}

TEST_CASE("what reads no large array in common, other points or the other's result does not") {
    const auto A = array({40, 300});
    CHECK(!are_joint("a[j] := A[i,j]; b[j] := B[i,j]; y[i,j] := a[j]*A[i,j] + b[j]",
                     {{"A", A}, {"B", A}}));
    CHECK(!are_joint("a[j] := A[i,j]; b[i] := A[i,j]; y[i,j] := a[j]*b[i]", {{"A", A}}));
    CHECK(!are_joint("a[j] := A[i,j]; b[j] := A[i,j]*a[j]; y[i,j] := b[j] - a[j]*A[i,j]",
                     {{"A", A}}));
    CHECK(
        !are_joint("a[j] := A[i,j]; b[j] := sum[i | i > j](A[i,j])\n"
                   "y[i,j] := a[j]*A[i,j] + b[j]",
                   {{"A", A}}));
    CHECK(!are_joint("a[j] := A[i,j]*B[i,j]; b[j] := A[i,j]; y[i,j] := a[j]*A[i,j] + b[j]",
                     {{"A", A}, {"B", A}}, 1 << 20));
}

TEST_CASE("sums of the parts of complex numbers, which stand side by side, share loops") {
    Target target = example_target(64);
    target.l2_bytes = 1024;
    for (const char* text :
         {"s[i] := sum[j](A[i,j])", "s[j] := sum[i](A[i,j])", "s := mean[i,j](A[i,j])"}) {
        const BoundProgram program =
            codegen::in_real_numbers(bound(text, {{"A", array({200, 300}, DType::c64)}}));
        const std::string plan = str(codegen::plan(program, target));
        CAPTURE(plan);
        CHECK(plan.find("over the same points") != std::string::npos);
    }
}

}  // namespace
}  // namespace ricci::tests
