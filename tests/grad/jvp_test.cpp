// tests/grad/jvp_test.cpp – tangents of whole programs: text, values, errors
#include "grad/jvp.h"

#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/grad/numeric.h"
#include "tests/support/error_text.h"
#include "tests/support/golden.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The program and its tangent when some or all arguments move, as they print.
void check_text(const std::string& golden, const std::string& text,
                std::vector<std::string> arguments = {}) {
    const Program program = parse_program(text);
    if (arguments.empty())
        for (const TensorId id : program.arguments) arguments.push_back(program.at(id).name);
    const Program tangent = grad::jvp(program, arguments);
    const std::string printed = str(tangent);
    check_golden("jvp/" + golden,
                 format("{}\n\n# {}\n{}\n", str(program), join(arguments, ", "), printed));
    CHECK(str(parse_program(printed)) == printed);
}

std::string text_of(const std::string& text, const std::vector<std::string>& arguments,
                    const grad::JvpOptions& options = {}) {
    return str(grad::jvp(parse_program(text), arguments, options));
}

}  // namespace

TEST_CASE("tangents of products, sums and biases") {
    check_text("linear", "Y[n,o] := W[o,k]*X[n,k] + b[o]");
    check_text("bias", "Y[n,o] := W[o,k]*X[n,k] + b[o]", {"b"});
    check_text("distance", "D[i,j] := (w[k,i] - x[k,j])^2");
    check_text("three_factors", "T[i,l] := A[i,j]*B[j,k]*C[k,l]");
}

TEST_CASE("tangents are read with the subscripts of what they belong to") {
    check_text("convolution", "O[n,f,y,x] := I[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[f,c,r,s]");
    check_text("modified",
               "G[i] := u[wrap(i+1)]*v[clamp(i-1)] + w[reflect(i+2)] + "
               "p[pad(i-1, 1, 0, 7)] where i in 0:size(u,0)");
    check_text("gathered", "Y[b,d] := sum[t | tok[b,t] >= 0](W[tok[b,t],d]*s[t])", {"W", "s"});
    check_text("trace", "s := A[i,i]*B[i]");
}

TEST_CASE("tangents of reducers") {
    check_text("softmax",
               "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))");
    check_text("max_over_all", "m := max[i,j](A[i,j]*B[j])");
    check_text("product", "P[i] := prod[k](A[i,k])");
    check_text("mean_and_norm", "Y[i] := mean[k](A[i,k]) + norm[k](A[i,k]) + logsumexp[k](A[i,k])");
}

TEST_CASE("tangents of updates") {
    check_text("scatter", "O[i] := X[i]; O[2*i+k] += Z[i]*W[k] where k in 0:2");
    check_text("overwritten", "O[i] := X[i]; O[i+1] = Z[i]^2 where i in 0:2");
    check_text("histogram", "h[J[n]] += x[n]^2", {"x"});
    check_text("partial_product", "P[i] *= A[i] where i in 0:2");
    check_text("partial_maximum", "M[J[i]] max= A[i]", {"M", "A"});
}

TEST_CASE("a tangent needs no argument that its derivatives do not") {
    CHECK(text_of("Y[i] := 2*A[i] + B[i]^2", {"A"}) == "dY[i] := dA[i]*2");
    CHECK(text_of("Y[i] := 2*A[i] + B[i]^2", {"A", "B"}) == "dY[i] := dA[i]*2 + 2*B[i]*dB[i]");
    CHECK(text_of("Y[i] := a*A[i]", {"a"}) == "dY[i] := da*A[i]");
}

TEST_CASE("a tangent of an array updated in place is updated in place") {
    CHECK(text_of("B[i] *= s[i]", {"B"}) == "dB[i] = dB[i]*s[i]");
    CHECK(text_of("B[i] *= s[i]", {"s"}) == "dB[i] := ds[i]*B[i]");
    CHECK(text_of("B[i] *= s[i]", {"B", "s"}) == "dB[i] = dB[i]*s[i] + ds[i]*B[i]");
}

TEST_CASE("tangents of several outputs") {
    const std::string text = "Y[i] := A[i]^2; Z[i] := Y[i]*B[i]";
    CHECK(text_of(text, {"A"}) == "dZ[i] := 2*A[i]*dA[i]*B[i]");
    CHECK(text_of(text, {"A"}, {.outputs = {"Y", "Z"}}) ==
          "dY[i] := 2*A[i]*dA[i]\ndZ[i] := dY[i]*B[i]");
    CHECK(text_of(text, {"B"}, {.outputs = {"Y"}}) == "dY[i] := 0.0 where i in 0:size(A,0)");
    CHECK(text_of("Y[i] := A[i]; Z[i] := Y[i]", {"A"}, {.outputs = {"Z", "Y"}}) ==
          "dZ[i] := dA[i]\ndY[i] := dA[i]");
}

TEST_CASE("names of tangents that clash get a suffix") {
    CHECK(text_of("Y[i] := dA[i]*A[i]", {"A"}) == "dY[i] := dA_[i]*dA[i]");
    CHECK(text_of("dY[i] := dA[i]*A[i]", {"A", "dA"}) == "ddY[i] := ddA[i]*A[i] + dA_[i]*dA[i]");
}

TEST_CASE("what a point excludes is not looked at by its tangent") {
    const Arrays at = {{"A", Array::from<double>({0, 4}, {2})},
                       {"dA", Array::from<double>({1, 1}, {2})}};
    for (const char* text :
         {"Y[i] := A[i] > 0 ? log(A[i]) : 0", "Y[i] := A[i] > 0 ? 1/A[i]^2 : A[i]",
          "Y[i] := select(A[i] > 0, sqrt(A[i])*3, 0) + (A[i] > 1 ? 1/A[i] : 0)"}) {
        CAPTURE(text);
        const Arrays found = evaluate(grad::jvp(parse_program(text), {"A"}), at);
        for (const double value : found.at("dY").span<double>()) CHECK(std::isfinite(value));
    }
}

TEST_CASE("the tangent of a product is exact with zeros among the factors") {
    const Program program = parse_program("P[i] := prod[k](A[i,k])");
    const Arrays at = {{"A", Array::from<double>({2, 0, 3, 0, 0, 5, 2, 3, 4}, {3, 3})},
                       {"dA", Array::from<double>({7, 5, 1, 1, 1, 1, 1, 2, 3}, {3, 3})}};
    const Array found = evaluate(grad::jvp(program, {"A"}), at).at("dP");
    CHECK(found.at({0}) == 30);
    CHECK(found.at({1}) == 0);
    CHECK(found.at({2}) == 46);
}

TEST_CASE("the tangent of a product between bounds is a sum that the product carries on") {
    check_text("running_product", "P[t] := prod[s | s <= t](A[s]) where t in 0:size(A,0)");
    const Program program = parse_program("P[t] := prod[s | s <= t](A[s]) where t in 0:size(A,0)");
    const Arrays at = {{"A", Array::from<double>({2, 0, 3, 0, 5}, {5})},
                       {"dA", Array::from<double>({1, 2, 3, 4, 5}, {5})}};
    const Array found = evaluate(grad::jvp(program, {"A"}), at).at("dP");
    const std::vector<double> expected = {1, 4, 12, 0, 0};
    for (std::size_t n = 0; n < expected.size(); ++n) {
        CHECK(found.span<double>()[n] == expected[n]);
    }
}

TEST_CASE("the first of the largest elements gives its tangent to a maximum") {
    const Program program = parse_program("m := min[i,j](A[i,j])");
    const Arrays at = {{"A", Array::from<double>({3, 2, 2, 2, 1, 5, 1, 1}, {2, 4})},
                       {"dA", Array::from<double>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4})}};
    CHECK(evaluate(grad::jvp(program, {"A"}), at).at("dm").item() == 5);
}

TEST_CASE("an unknown derivative that the tangent does not need is no error") {
    CHECK(text_of("Y[i] := A[i]*sign(digamma(A[i])) + floor(digamma(A[i]))", {"A"}) ==
          "dY[i] := dA[i]*sign(digamma(A[i]))");
    CHECK(text_of("U[i] := digamma(A[i]); Y[i] := A[i]*floor(U[i])", {"A"}) ==
          "dY[i] := dA[i]*floor(digamma(A[i]))");
    CHECK(text_of("U[i] := digamma(A[i]); V[i] := U[i]^2; Y[i] := A[i]*sign(V[i])", {"A"}) ==
          "dY[i] := dA[i]*sign(digamma(A[i])^2)");
}

TEST_CASE("unknown arguments and outputs, and whole numbers, are errors of forward mode") {
    const Program program = parse_program("Y[i] := Weight[i]*X[i+$c]");
    CHECK(error_text([&] { (void)grad::jvp(program, {"Wieght"}); }) ==
          "name: the program has no argument `Wieght`\n  = hint: did you mean `Weight`?");
    CHECK(error_text([&] { (void)grad::jvp(program, {"X"}, {.outputs = {"Q"}}); }) ==
          "name: the program has no output `Q`\n  = hint: its outputs are `Y`");
    CHECK(error_text([&] { (void)grad::jvp(program, {"c"}); }) ==
          "gradient: the argument `c` stands in a subscript or a range: it is an integer, which "
          "has no gradient\n  = hint: ask for the gradient of a floating argument");
    CHECK(error_text([&] { (void)grad::jvp(parse_program("Y[i] := digamma(A[i])"), {"A"}); }) ==
          "gradient: the derivative of `digamma` is not a function of the language\n"
          "  | Y[i] := digamma(A[i])\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: ask only for gradients of arguments that do not pass through it");
    const Program late = parse_program("U[i] := digamma(A[i]); Y[i] := 2*A[i]*U[i]");
    CHECK(error_text([&] { (void)grad::jvp(late, {"A"}); }) ==
          "gradient: the derivative of `digamma` is not a function of the language\n"
          "  | U[i] := digamma(A[i]); Y[i] := 2*A[i]*U[i]\n"
          "  | ^^^^^^^^^^^^^^^^^^^^^\n"
          "  = hint: ask only for gradients of arguments that do not pass through it");
}
