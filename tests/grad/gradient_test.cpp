// tests/grad/gradient_test.cpp – gradients of whole programs: text, values, errors
#include "grad/gradient.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/grad/numeric.h"
#include "tests/support/error_text.h"
#include "tests/support/golden.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

Array numbers(Shape shape, std::uint64_t seed = 5) {
    return uniform(std::move(shape), -2, 2, seed);
}

/// The program and the gradient of each argument, as they print.
std::string texts(const std::string& text) {
    const Program program = parse_program(text);
    std::string result = str(program) + "\n";
    for (const TensorId id : program.arguments) {
        const std::string& name = program.at(id).name;
        result += format("\n# {}\n{}\n", name, str(grad::gradient(program, name)));
    }
    return result;
}

/// Checks the printed gradients against a golden text, and their values against differences.
void check_program(const std::string& golden, const std::string& text, const Arrays& arguments) {
    check_golden("grad/" + golden, texts(text));
    check_gradients(text, arguments);
}

}  // namespace

TEST_CASE("linear: the bias gets its own sum") {
    check_program("linear", "Y[n,o] := W[o,k]*X[n,k] + b[o]",
                  {{"W", numbers({3, 4})}, {"X", numbers({2, 4})}, {"b", numbers({3})}});
}

TEST_CASE("distance") {
    check_program("distance", "D[i,j] := (w[k,i] - x[k,j])^2",
                  {{"w", numbers({4, 3})}, {"x", numbers({4, 2}, 6)}});
}

TEST_CASE("valid convolutions gather with bounds") {
    check_program("convolution_1d", "O[y] := A[y+r]*F[r]",
                  {{"A", numbers({8})}, {"F", numbers({3})}});
    check_program("convolution_2d", "O[n,f,y,x] := I[n,c,y+r,x+s]*W[f,c,r,s]",
                  {{"I", numbers({2, 2, 5, 4})}, {"W", numbers({3, 2, 2, 3})}});
}

TEST_CASE("softmax") {
    check_program("softmax",
                  "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
                  {{"X", numbers({3, 5})}});
}

TEST_CASE("layer norm") {
    check_program("layer_norm",
                  "Y[n,d] := (X[n,d] - mean[c](X[n,c]))*g[d]"
                  " / sqrt(mean[c]((X[n,c] - mean[e](X[n,e]))^2) + 1e-5) + b[d]",
                  {{"X", numbers({3, 5})}, {"g", numbers({5})}, {"b", numbers({5})}});
}

TEST_CASE("the first of the largest elements gets the gradient of a maximum") {
    check_program("max_over_axis", "M[i] := max[k](A[i,k])", {{"A", numbers({3, 5})}});
    check_program("max_over_all", "m := max[i,j](A[i,j]*B[j])",
                  {{"A", numbers({3, 4})}, {"B", numbers({4})}});
    const Program program = parse_program("m := min[i,j](A[i,j])");
    const Arrays at = {{"A", Array::from<double>({3, 2, 2, 2, 1, 5, 1, 1}, {2, 4})},
                       {"dm", Array::full(DType::f64, {}, 1)}};
    const Array found = evaluate(grad::gradient(program, "A"), at).at("dA");
    CHECK(found.at({1, 0}) == 1);
    CHECK(found.at({1, 2}) == 0);
}

TEST_CASE("products of three factors") {
    check_program("three_factors", "T[i,l] := A[i,j]*B[j,k]*C[k,l]",
                  {{"A", numbers({2, 3})}, {"B", numbers({3, 4})}, {"C", numbers({4, 2})}});
}

TEST_CASE("a trace goes to the diagonal") {
    check_program("trace", "s := A[i,i]", {{"A", numbers({4, 4})}});
}

TEST_CASE("a product is exact with zeros among its factors") {
    check_program("product", "P[i] := prod[k](A[i,k])", {{"A", numbers({3, 4})}});
    const Program program = parse_program("P[i] := prod[k](A[i,k])");
    const Arrays at = {{"A", Array::from<double>({2, 0, 3, 0, 0, 5, 2, 3, 4}, {3, 3})},
                       {"dP", Array::full(DType::f64, {3}, 1)}};
    const Array found = evaluate(grad::gradient(program, "A"), at).at("dA");
    const std::vector<double> expected = {0, 6, 0, 0, 0, 0, 12, 8, 6};
    for (std::size_t n = 0; n < expected.size(); ++n) {
        CHECK(found.span<double>()[n] == expected[n]);
    }
}

TEST_CASE("a product between bounds leaves the products before and behind each factor") {
    check_program("running_product", "P[b,t] := prod[s | s <= t](A[b,s]) where t in 0:size(A,1)",
                  {{"A", numbers({2, 5})}});
    check_program("linear_recurrence",
                  "Y[b,t] := sum[s | s <= t](X[b,s]*prod[u | u > s && u <= t](a[b,u]))"
                  " where t in 0:size(X,1)",
                  {{"X", numbers({2, 5})}, {"a", numbers({2, 5}, 3)}});
    check_gradients("P[t] := prod[s | s >= t && s != 2](A[s]*B[t,s]) where t in 0:4",
                    {{"A", numbers({6})}, {"B", numbers({4, 6}, 5)}});
    check_gradients("P[t+_] := prod[s in 0:9 | s <= t+1 && s > t-2](A[s]) where t in 2:7",
                    {{"A", numbers({10})}});
    check_gradients("P[t] := prod[s | s < 2*t+1 && s >= t](A[s]*A[s+1]) where t in 0:3",
                    {{"A", numbers({7})}});
    check_gradients("P[t,c] := prod[s | s <= t](A[s]*B[c,s]) where t in 0:4",
                    {{"A", numbers({5})}, {"B", numbers({3, 5}, 5)}});
    check_gradients("P[t] := prod[s in 0:5 | 5 - s > t](A[s+1]) where t in 0:7",
                    {{"A", numbers({6})}});
    // The bounds alone keep the reads inside: t is less than half as long as s may be.
    check_gradients("P[t] := prod[s in 0:20 | s <= t](A[s]*B[t-s]) where t in 0:6",
                    {{"A", numbers({6})}, {"B", numbers({6}, 5)}});
}

TEST_CASE("a product between bounds is exact with zeros among its factors") {
    const Program program = parse_program("P[t] := prod[s | s <= t](A[s]) where t in 0:size(A,0)");
    const Arrays at = {{"A", Array::from<double>({2, 0, 3, 0, 5}, {5})},
                       {"dP", Array::full(DType::f64, {5}, 1)}};
    const Array found = evaluate(grad::gradient(program, "A"), at).at("dA");
    const std::vector<double> expected = {1, 8, 0, 0, 0};
    for (std::size_t n = 0; n < expected.size(); ++n) {
        CHECK(found.span<double>()[n] == expected[n]);
    }
}

TEST_CASE("complex products between bounds, which are no walks, count their zeros") {
    const Program program = parse_program("P[t] := prod[s | s <= t](A[s]) where t in 0:size(A,0)");
    grad::Options options;
    CHECK(str(grad::gradient(program, "A", options)).find("!= 0") == std::string::npos);
    options.complex_arguments = {"A"};
    CHECK(str(grad::gradient(program, "A", options)).find("!= 0") != std::string::npos);
}

TEST_CASE("relu reads the output it made") {
    check_program("relu_layer", "H[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
                  {{"W", numbers({3, 4})}, {"X", numbers({2, 4}, 8)}, {"b", numbers({3})}});
}

TEST_CASE("scalars have gradients") {
    check_program("scalars", "Y[i] := a*X[i]^2 + exp(c)",
                  {{"X", numbers({4})}, {"a", numbers({})}, {"c", numbers({}, 9)}});
}

TEST_CASE("programs of several statements") {
    check_program("two_layers",
                  "H[n,h] := tanh(sum[k](A[h,k]*X[n,k]))\nY[n,o] := B[o,h]*H[n,h]\n"
                  "loss := (Y[n,o] - T[n,o])^2",
                  {{"A", numbers({3, 4})},
                   {"B", numbers({2, 3})},
                   {"X", numbers({2, 4}, 8)},
                   {"T", numbers({2, 2}, 9)}});
    check_gradients("B[i,j] := A[i,k]*A[k,j]\nC[i,j] := B[i,k]*A[k,j]\ns := C[i,i]",
                    {{"A", numbers({3, 3})}});
}

TEST_CASE("one array read in several places adds up") {
    check_gradients("Y[i] := A[i]*A[i] + A[i+1]*A[i] + sum[j](A[j])", {{"A", numbers({5})}}, {"A"});
    check_gradients("Y[i,j] := A[i]*A[j]", {{"A", numbers({4})}});
}

TEST_CASE("an argument that the result does not depend on has the gradient 0") {
    const Program program = parse_program("Y[i] := X[i] + floor(Z[i])");
    CHECK(str(grad::gradient(program, "Z")) == "dZ[t] := 0 where t in 0:size(Z,0)");
}

TEST_CASE("updates of a new array") {
    check_gradients("C[i] := X[i]^2; C[i] += Z[i]*X[i]; C[i] *= Z[i]",
                    {{"X", numbers({4})}, {"Z", numbers({4}, 7)}});
    check_gradients("C[i] := X[i]^2; C[i+1] += Z[i]*X[i+1] where i in 0:2",
                    {{"X", numbers({4})}, {"Z", numbers({4}, 7)}});
    check_gradients("C[i] := X[i]^2; C[2*i] = Z[i]*X[i] where i in 0:2; D[i] := C[i]*X[i]",
                    {{"X", numbers({4})}, {"Z", numbers({4}, 7)}});
    check_gradients("C[i] := X[i]; C[i] max= Z[i,k]; C[i] min= W[i]",
                    {{"X", numbers({4})}, {"Z", numbers({4, 3}, 7)}, {"W", numbers({4}, 3)}});
    check_gradients("O[i] := X[i]; O[i+k] += Z[i]*W[k] where i in 0:3, k in 0:2",
                    {{"X", numbers({4})}, {"Z", numbers({3}, 7)}, {"W", numbers({2}, 3)}});
}

TEST_CASE("the gradient of an array updated in place updates its cotangent") {
    const Program program = parse_program("B[i] *= s[i]");
    CHECK(str(grad::gradient(program, "B")) == "dB[i] = dB[i]*s[i]");
    CHECK(str(grad::gradient(program, "s")) == "ds[i] := dB[i]*B[i]");
}

TEST_CASE("what both branches of a choice read gets both cotangents in one choice") {
    const auto gradient_of_a = [](const std::string& text) {
        return str(grad::gradient(parse_program(text), "A"));
    };
    CHECK(gradient_of_a("Y[i] := x[i] > 0 ? A[i]*B[i] : A[i]*3") ==
          "dA[i] := x[i] > 0 ? dY[i]*B[i] : dY[i]*3");
    CHECK(gradient_of_a("Y[i] := x[i] > 0 ? A[i] - B[i] : A[i] + B[i]") == "dA[t] := dY[t]");
    CHECK(gradient_of_a("Y[i] := x[i] > 0 ? (x[i] > 1 ? A[i] : 2*A[i]) : 3*A[i]") ==
          "dA[i] := x[i] > 0 ? (x[i] > 1 ? dY[i] : dY[i]*2) : dY[i]*3");
    CHECK(gradient_of_a("Y[i] := x[i] > 0 && B[i] > 0 ? A[i]*B[i] : A[i]*x[i]") ==
          "dA[i] := x[i] > 0 && B[i] > 0 ? dY[i]*B[i] : dY[i]*x[i]");
    check_gradients("Y[i] := x[i] > 0 ? (x[i] > 1 ? A[i]^2 : 2*A[i]) : (B[i] < 0 ? 3 : A[i])",
                    {{"x", numbers({9})}, {"A", numbers({9}, 6)}, {"B", numbers({9}, 7)}}, {"A"});
}

TEST_CASE("several cotangents") {
    const Program program = parse_program("Y[i] := A[i]^2; Z[i] := Y[i]*B[i]");
    const grad::Options both = {.cotangents = {"Y", "Z"}};
    CHECK(str(grad::gradient(program, "A", both)) == "dA[i] := 2*A[i]*(dY[i] + dZ[i]*B[i])");
    CHECK(str(grad::gradient(program, "A", {.cotangents = {"Y"}})) == "dA[i] := 2*A[i]*dY[i]");
}

TEST_CASE("names that clash get a suffix") {
    const Program program = parse_program("Y[i] := dA[i]*A[i]");
    CHECK(str(grad::gradient(program, "A")) == "dA_[i] := dY[i]*dA[i]");
}

TEST_CASE("gradients of gradients") {
    const Program first = grad::gradient(parse_program("Y[i] := A[i]^3*B[i]"), "A");
    check_gradients(str(first),
                    {{"A", numbers({4})}, {"B", numbers({4}, 8)}, {"dY", numbers({4}, 9)}});
}

TEST_CASE("an unknown argument is an error with a suggestion") {
    const Program program = parse_program("Y[i] := Weight[i]*X[i]");
    CHECK(error_text([&] { (void)grad::gradient(program, "Wieght"); }) ==
          "name: the program has no argument `Wieght`\n  = hint: did you mean `Weight`?");
    CHECK(error_text([&] { (void)grad::gradient(program, "X", {.cotangents = {"Q"}}); }) ==
          "name: the program has no output `Q`\n  = hint: its outputs are `Y`");
}

TEST_CASE("a product too long to differentiate is refused before it fills the memory") {
    std::string text = "Y[i] := A[i]";
    for (int n = 0; n < 3000; ++n) text += format("*A[i+{}]", n);
    const std::string error = error_text([&] { (void)grad::gradient(parse_program(text), "A"); });
    CHECK(error.starts_with("limit: the gradient of a product of 3001 factors is too large\n"));
    CHECK(error.ends_with("  = hint: reduce over an index: `prod[k](A[k])`"));
}
