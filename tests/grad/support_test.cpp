// tests/grad/support_test.cpp – what a later statement excludes has no gradient, not even NaN
#include "grad/support.h"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "grad/gradient.h"
#include "tests/grad/numeric.h"

namespace ricci::tests {
namespace {

std::string gradient_of_a(const std::string& text) {
    return str(grad::gradient(parse_program(text), "A"));
}

/// The gradient by A for a cotangent of ones of that shape.
Array gradient_at(const std::string& text, Arrays arrays, const Shape& shape = {3}) {
    arrays.emplace("dY", Array::full(DType::f64, shape, 1));
    return evaluate(grad::gradient(parse_program(text), "A"), arrays).at("dA");
}

Array numbers(Shape shape, std::uint64_t seed = 5) {
    return uniform(std::move(shape), -2, 2, seed);
}

using Values = std::vector<double>;
Values values(const Array& array) {
    const std::span<const double> span = array.span<double>();
    return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("infinite values that a later statement leaves out have the gradient 0") {
    const Array above = Array::from<double>({0, 1000, 1000, 0, 0, 1000, 0, 0, 0}, {3, 3});
    for (const std::string text : {
             "E[s,t] := exp(A[s,t]); Y[s] := sum[t | t <= s](E[s,t])",
             "E[s,t] := exp(A[s,t]); Y[s] := sum[t](t <= s ? E[s,t] : 0)",
             "E[s,t] := exp(A[s,t]); F[s,t] := t <= s ? E[s,t] : 0; Y[s] := F[s,t]",
             "E[s,t] := exp(A[s,t]); F[s,t] := E[s,t]; Y[s] := sum[t | t <= s](F[s,t])",
             "E[s,t] := exp(A[s,t]); Y[s] := sum[t](A[s,t] < 1000 ? E[s,t] : 0)",
         }) {
        CAPTURE(text);
        CHECK(values(gradient_at(text, {{"A", above}})) == Values{1, 0, 0, 1, 1, 0, 1, 1, 1});
    }
    CHECK(values(gradient_at("L[i] := log(A[i]); Y[i] := A[i] > 0 ? L[i] : 0",
                             {{"A", Array::from<double>({0, 4, 0}, {3})}})) == Values{0, 0.25, 0});
    CHECK(values(gradient_at("s[i] := sum[k](1/A[i,k]); Y[i] := s[i] < 100 ? s[i] : 0",
                             {{"A", Array::from<double>({0, 1, 2, 4, 1, 0}, {3, 2})}})) ==
          Values{0, 0, -0.25, -0.0625, 0, 0});
}

TEST_CASE("places that no later statement reads have the gradient 0 where a condition says which") {
    CHECK(gradient_of_a("E[i,j] := exp(A[i,j]); X[s] := sum[t | t < s](E[s,t]);"
                        "Y[s] := X[s] + E[s,s]") ==
          "dA[i,j] := j == i || j < i ? ((j == i ? dY[i] : 0) + (j < i ? dY[i] : 0))*exp(A[i,j]) : "
          "0");
    CHECK(gradient_of_a("E[i,j] := exp(A[i,j]); Y[s] := E[s,s+1]") ==
          "dA[i,j] := j == i+1 && i < size(dY,0) ? sum[s | i == s && j == s+1](dY[s])*exp(A[i,j]) "
          ": 0");
    CHECK(gradient_of_a("E[i] := exp(A[i]); Y[s+_] := E[s] where s in 5:7") ==
          "dA[i] := i >= 5 && i < 7 ? sum[s in 5:7 | i == s](dY[s-5])*exp(A[i]) : 0");
    CHECK(gradient_of_a("E[i,j] := exp(A[i,j]); Y[s] := sum[t | size(A,0) > 3](E[s,t])") ==
          "dA[i,j] := size(A,0) > 3 ? dY[i]*exp(A[i,j]) : 0");
    const Array off_diagonal = Array::from<double>({1000, 0, 1000, 1000, 1000, 0, 0, 0, 0}, {3, 3});
    CHECK(values(gradient_at("E[i,j] := exp(A[i,j]); Y[s] := E[s,s+1]", {{"A", off_diagonal}},
                             {2})) == Values{0, 1, 0, 0, 0, 1, 0, 0, 0});
    const Arrays at = {{"A", numbers({6, 6})}, {"c", numbers({6})}};
    for (const std::string text : {
             "E[i,j] := exp(A[i,j]); Y[s] := E[s,s+1]*c[s] where s in 0:5",
             "E[i,j] := exp(A[i,j]); Y[s] := sum[r in 0:3](E[s,s+r])*c[s] where s in 0:4",
             "E[i,j] := exp(A[i,j]); Y[s] := E[s,5-s]*c[s]",
             "E[i,j] := exp(A[i,j]); Y[s] := E[2*s-s,s] + c[s]",
             "E[i,j] := exp(A[i,j]); Y[s+_] := E[s,s-1] + E[s-1,s]*c[s] where s in 1:6",
             "E[i,j] := A[i,k]*A[j,k]; Y[s] := E[s,s+2]*c[s] where s in 0:4",
         }) {
        CAPTURE(text);
        check_gradients(text, at, {"A"});
    }
}

TEST_CASE("a point has no distance to itself") {
    const std::string text =
        "r[i,j] := sqrt(sum[k]((A[j,k]-A[i,k])^2)); Y := sum[i,j | i != j](1/r[i,j])";
    const Arrays at = {{"A", numbers({4, 3})}};
    for (const double value : gradient_at(text, at, {}).span<double>()) CHECK(std::isfinite(value));
    check_gradients(text, at);
}

TEST_CASE("the condition of a later statement is taken over, and bounds what it can") {
    CHECK(gradient_of_a("E[s,t] := exp(A[s,t]); Y[s] := sum[t | t <= s](E[s,t])") ==
          "dA[s,t] := t <= s ? dY[s]*exp(A[s,t]) : 0");
    CHECK(gradient_of_a("L[i] := log(A[i]); Y[i] := A[i] > 0 ? L[i] : 0") ==
          "dA[i] := A[i] > 0 ? dY[i]/A[i] : 0");
    CHECK(gradient_of_a("S[i,j] := A[i,k]*B[j,k]; Y[i] := sum[j | j <= i](S[i,j]^2)") ==
          "dA[i,k] := sum[j | j <= i](2*sum[k2](A[i,k2]*B[j,k2])*dY[i]*B[j,k])");
    CHECK(gradient_of_a("S[i,j] := A[i,k]*B[k,j]; Y[i] := S[i,i]") ==
          "dA[i,k] := sum[j | j == i](dY[i]*B[k,j])");
    // Two statements ask for it.
    CHECK(gradient_of_a("S[i,j] := exp(A[i,j]); z[i] := sum[j | j <= i](S[i,j]);"
                        "Y[i] := z[i]*sum[j | j <= i](S[i,j]*B[j])") ==
          "S[i,j] := exp(A[i,j])\n"
          "dA[i,j] := j <= i ? (dY[i]*sum[j2 | j2 <= i](S[i,j2])*B[j] + "
          "dY[i]*sum[j2 | j2 <= i](S[i,j2]*B[j2]))*S[i,j] : 0");
}

TEST_CASE("a condition is left out where another statement asks for all points") {
    CHECK(gradient_of_a("S[i,j] := exp(A[i,j]); Y[i] := sum[j | j <= i](S[i,j]) + "
                        "sum[j](S[i,j]*B[j])") ==
          "dA[i,j] := (dY[i]*B[j] + (j <= i ? dY[i] : 0))*exp(A[i,j])");
    CHECK(gradient_of_a("S[i,j] := exp(A[i,j]); Y[i] := sum[j | j <= i](S[i,j]) + "
                        "sum[j | j <= i && j > 3](S[i,j]*B[j])") ==
          "dA[i,j] := j <= i ? ((j > 3 ? dY[i]*B[j] : 0) + dY[i])*exp(A[i,j]) : 0");
    // What makes no loops shorter is left out of products.
    CHECK(gradient_of_a("S[i,j] := A[i,k]*B[j,k]; Y[i] := sum[j | j != i](S[i,j]^2)") ==
          "dA[i,k] := (j != i ? 2*sum[k2](A[i,k2]*B[j,k2])*dY[i] : 0)*B[j,k]");
    CHECK(gradient_of_a("S[i,j] := A[i,k]*B[j,k]; Y[i,j] := relu(S[i,j])") ==
          "dA[i,k] := (relu(sum[k2](A[i,k2]*B[j,k2])) > 0 ? dY[i,j] : 0)*B[j,k]");
}

TEST_CASE("conditions that keep places of data inside stay where they are") {
    CHECK(gradient_of_a("E[i] := 1/A[i]; "
                        "Y[i] := J[i] >= 0 && J[i] < 3 ? E[i]*D[J[i]] : 0") ==
          "dA[i] := J[i] >= 0 && J[i] < 3 ? -(dY[i]*D[J[i]]*(1/A[i])/A[i]) : 0");
    CHECK(gradient_of_a("E[i] := 1/A[i]; "
                        "Y[i] := J[i] >= 0 && J[i] < 3 && D[J[i]] > 0 ? E[i] : 0") ==
          "dA[i] := J[i] >= 0 && J[i] < 3 ? -((J[i] >= 0 && J[i] < 3 && D[J[i]] > 0 ? dY[i] : 0)*"
          "(1/A[i])/A[i]) : 0");
    CHECK(values(gradient_at("E[i] := 1/A[i]; Y[i] := J[i] >= 0 && J[i] < 3 ? E[i]*D[J[i]] : 0",
                             {{"A", Array::from<double>({0, 2, 0}, {3})},
                              {"J", Array::from<std::int64_t>({-1, 1, 7}, {3})},
                              {"D", Array::from<double>({1, 8, 1}, {3})}})) == Values{0, -2, 0});
}

TEST_CASE("gradients under conditions of later statements agree with differences") {
    const Arrays at = {{"A", numbers({4, 5})}, {"B", numbers({4, 5}, 6)}, {"c", numbers({4}, 7)}};
    for (const std::string text : {
             "E[i,j] := exp(A[i,j]*B[i,j]); Y[i] := c[i]*sum[j | j <= i](E[i,j])",
             "S[i,j] := A[i,k]*B[j,k]; Y[i] := c[i]*sum[j | j <= i](exp(S[i,j]))",
             "S[i,j] := A[i,k]*B[j,k]; Y[i+_] := c[i]*S[i,i] where i in 1:4",
             "S[i,j] := A[i,k]*B[j,k]; Y[i+_] := c[i]*S[i,j+1] where i in 1:3, j in 0:2",
             "S[i,j] := A[i,k]*B[j,k]; T[i,j] := j+i < 4 ? S[i,j]^2 : 0; Y[i] := c[j]*T[j,i]",
             "S[i,j] := prod[k](A[i,k]*B[j,k]); Y[i] := sum[j | j > i](S[i,j])*c[i]",
             "S[i,j] := max[k](A[i,k]*B[j,k]); Y[i] := sum[j | j > i](S[i,j])*c[i]",
             "S[i,j] := A[i,j]; S[wrap(i+1),j] += exp(B[i,j]); Y[i] := sum[j | j <= "
             "i](S[i,j])*c[i]",
             "S[i,j] := A[i,j]; S[pad(i+1,1),j] += exp(B[i,j]); Y[i] := sum[j | j <= "
             "i](S[i,j])*c[i]",
             "S[i,j] := A[i,j]; S[clamp(i+1),j] += exp(B[i,j]); Y[i] := sum[j | j <= "
             "i](S[i,j])*c[i]",
             "S[i,j] := A[i,j]; S[i,0] += B[i,1]; Y[i] := sum[j | j <= i](S[i,j]^2)*c[i]",
             "S[i,j] := A[i,j]; S[i,0] *= B[i,1]; Y[i] := sum[j | j <= i](S[i,j]^2)*c[i]",
             "S[i,j] := A[i,j]; S[i,0] = B[i,1]; Y[i] := sum[j | j <= i](S[i,j]^2)*c[i]",
         }) {
        CAPTURE(text);
        check_gradients(text, at);
    }
}

}  // namespace ricci::tests
