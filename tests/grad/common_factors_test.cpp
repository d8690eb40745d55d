// tests/grad/common_factors_test.cpp – derivatives of softmax and norms are the well-known ones
#include "grad/common_factors.h"

#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "grad/gradient.h"
#include "tests/grad/numeric.h"

namespace ricci::tests {
namespace {

/// The equation of the gradient by the argument, the last one printed.
std::string gradient_text(const std::string& program, const std::string& argument) {
    const std::string text = str(grad::gradient(parse_program(program), argument));
    return text.substr(text.rfind('\n') + 1);
}

Array numbers(Shape shape, std::uint64_t seed = 5) {
    return uniform(std::move(shape), -2, 2, seed);
}

}  // namespace

TEST_CASE("softmax, however it is written") {
    const std::string known = "dX[i,j] := (dP[i,j] - sum[j2](dP[i,j2]*P[i,j2]))*P[i,j]";
    for (const std::string text : {
             "P[i,j] := exp(X[i,j])/sum[k](exp(X[i,k]))",
             "P[i,j] := exp(X[i,j] - max[k](X[i,k]))/sum[k](exp(X[i,k] - max[l](X[i,l])))",
             "E[i,j] := exp(X[i,j] - max[k](X[i,k])); P[i,j] := E[i,j]/sum[k](E[i,k])",
             "m[i] := max[j](X[i,j]); E[i,j] := exp(X[i,j] - m[i]); s[i] := E[i,j];"
             "P[i,j] := E[i,j]/s[i]",
         }) {
        CAPTURE(text);
        CHECK(gradient_text(text, "X") == known);
        check_gradients(text, {{"X", numbers({3, 5})}});
    }
}

TEST_CASE("the scores of causal attention") {
    const std::string text =
        "S[q,k] := k <= q ? X[q,k] : -inf\n"
        "P[q,k] := exp(S[q,k] - max[l](S[q,l]))/sum[l](exp(S[q,l] - max[m](S[q,m])))";
    CHECK(gradient_text(text, "X") ==
          "dX[q,k] := k <= q ? (dP[q,k] - sum[k2](dP[q,k2]*P[q,k2]))*P[q,k] : 0");
    check_gradients(text, {{"X", numbers({4, 4})}});
    const std::string zeros =
        "m[q] := max[k | k <= q](X[q,k]); E[q,k] := k <= q ? exp(X[q,k] - m[q]) : 0;"
        "s[q] := sum[k](E[q,k]); P[q,k] := E[q,k]/s[q]";
    CHECK(gradient_text(zeros, "X") ==
          "dX[q,k] := k <= q ? (dP[q,k] - sum[k2](dP[q,k2]*P[q,k2]))*P[q,k] : 0");
    check_gradients(zeros, {{"X", numbers({4, 4})}});
}

TEST_CASE("a branch of a choice is read where the choice is stored") {
    CHECK(gradient_text("Y[i] := X[i] > 0 ? exp(X[i]) : 0", "X") ==
          "dX[i] := X[i] > 0 ? dY[i]*exp(X[i]) : 0");
    CHECK(gradient_text("E[i] := X[i] > 0 ? exp(X[i]) : 0; Y[i] := E[i]^2", "X") ==
          "dX[i] := X[i] > 0 ? 2*E[i]*dY[i]*E[i] : 0");
    CHECK(gradient_text("Y[i] := X[i] > 0 ? X[i] : exp(X[i])", "X") ==
          "dX[i] := X[i] > 0 ? dY[i] : dY[i]*exp(X[i])");
    // The branch that is used elsewhere, too, is not what is stored.
    CHECK(gradient_text("Y[i] := X[i] > 0 ? exp(X[i]) : 2*exp(X[i])", "X") ==
          "dX[i] := (X[i] > 0 ? dY[i] : dY[i]*2)*exp(X[i])");
    const Arrays at = {{"X", numbers({9})}};
    for (const std::string text : {
             "Y[i] := X[i] > 0 ? exp(X[i]) : 0",
             "Y[i] := X[i] > 0 ? tanh(X[i]) : exp(X[i])",
             "Y[i] := X[i] > 0 ? exp(X[i]) : 2*exp(X[i])",
             "Y[i] := X[i] > 0 ? exp(X[i]) : X[i] > -1 ? exp(X[i])*X[i] : tanh(X[i])",
         }) {
        CAPTURE(text);
        check_gradients(text, at);
    }
}

TEST_CASE("the logarithm of a softmax") {
    const std::string text =
        "m[i] := max[k](X[i,k]); L[i,j] := X[i,j] - m[i] - log(sum[k](exp(X[i,k] - m[i])))";
    CHECK(gradient_text(text, "X") ==
          "dX[i,k] := dL[i,k] - sum[j](dL[i,j])*exp(X[i,k] - m[i])/sum[k2](exp(X[i,k2] - m[i]))");
    for (const std::string& each : {text, std::string("L[i,j] := X[i,j] - logsumexp[k](X[i,k])")})
        check_gradients(each, {{"X", numbers({3, 5})}});
}

TEST_CASE("normalisation by mean and variance") {
    const std::string text =
        "m[i] := mean[c](X[i,c]); v[i] := mean[c]((X[i,c]-m[i])^2)\n"
        "Z[i,c] := (X[i,c] - m[i])/sqrt(v[i] + 1e-5)";
    CHECK(gradient_text(text, "X") ==
          "dX[i,c] := (dZ[i,c] - Z[i,c]*(sum[c2](dZ[i,c2]*Z[i,c2])/size(X,1))"
          " - sum[c2](dZ[i,c2])/size(X,1))/sqrt(v[i] + 1e-5)");
    check_gradients(text, {{"X", numbers({3, 5})}});
}

TEST_CASE("of equal divisors all but one divide the sum of a row as a whole") {
    const std::string text =
        "m[i] := mean[c](X[i,c]); v[i] := mean[c]((X[i,c]-m[i])^2)\n"
        "Z[i,c] := (X[i,c] - m[i])/sqrt(v[i] + 1e-5)*g[c] + b[c]";
    CHECK(gradient_text(text, "X") ==
          "dX[i,c] := (dZ[i,c]*g[c] - (X[i,c] - m[i])*(sum[c2](dZ[i,c2]*g[c2]*((X[i,c2] - m[i])"
          "/sqrt(v[i] + 1e-5)))/size(X,1)/sqrt(v[i] + 1e-5)) - sum[c2](dZ[i,c2]*g[c2])/size(X,1))"
          "/sqrt(v[i] + 1e-5)");
    check_gradients(text, {{"X", numbers({3, 5})}, {"g", numbers({5}, 7)}, {"b", numbers({5}, 3)}});
}

TEST_CASE("the gradient of a norm does not overflow where its factors multiplied would") {
    const Program program =
        grad::gradient(parse_program("m[i] := mean[c](X[i,c]); v[i] := mean[c]((X[i,c]-m[i])^2)\n"
                                     "Z[i,c] := (X[i,c] - m[i])/sqrt(v[i])*g[c]"),
                       "X");
    const Array x = numbers({3, 50});
    const Array cotangent = numbers({3, 50}, 6);
    const Array g = numbers({50}, 7);
    const Array known = evaluate(program, {{"X", x}, {"g", g}, {"dZ", cotangent}}).at("dX");
    constexpr double large = 1e153;
    for (const Array& array : {x, cotangent})
        for (double& value : array.span<double>()) value *= large;
    const Array result = evaluate(program, {{"X", x}, {"g", g}, {"dZ", cotangent}}).at("dX");
    for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t c = 0; c < 50; ++c)
            CHECK(result.at({i, c}) == doctest::Approx(known.at({i, c})).epsilon(1e-9));
}

TEST_CASE("the sum of differences to a mean is 0, to anything else it is not") {
    const std::string of_mean = "m[i] := mean[c](X[i,c]); y[i] := sum[c]((X[i,c]-m[i])^2)";
    CHECK(gradient_text(of_mean, "X") ==
          "dX[i,c] := 2*(X[i,c] - sum[c2](1.0*X[i,c2])/size(X,1))*dy[i]");
    for (const std::string text : {
             "m[i] := mean[c | c > 0](X[i,c]); y[i] := sum[c]((X[i,c]-m[i])^2)",
             "m[i] := mean[c](X[i,c]); y[i] := sum[c in 0:3]((X[i,c]-m[i])^2)",
             "m[i] := mean[c](X[i,c]); y[i] := sum[c](g[c]*(X[i,c]-m[i])^2)",
             "m[i] := mean[c](X[i,c]); y[i] := sum[c]((X[i,c]-2*m[i])^2)",
             "m[i] := mean[c](X[i,c]); y[i] := sum[c]((X[i,c]+m[i])^2)",
             "m[i] := mean[c](X[i,c]^2); y[i] := sum[c]((X[i,c]-m[i])^2)",
             "m[i] := sum[c](X[i,c])/3; y[i] := sum[c]((X[i,c]-m[i])^2)",
         }) {
        CAPTURE(text);
        CHECK(gradient_text(text, "X").find(" + ") != std::string::npos);  // a second term
        Arrays arrays{{"X", numbers({3, 5})}};
        if (text.find("g[") != std::string::npos) arrays.emplace("g", numbers({5}, 7));
        check_gradients(text, arrays);
    }
    check_gradients(of_mean, {{"X", numbers({3, 5})}});
}

TEST_CASE("rows divided by their norm") {
    const std::string text = "Y[i,j] := X[i,j]/norm[k](X[i,k])";
    CHECK(gradient_text(text, "X") ==
          "dX[i,j] := (dY[i,j] - Y[i,j]*sum[j2](dY[i,j2]*Y[i,j2]))/sqrt(t1[i])");
    check_gradients(text, {{"X", numbers({3, 5})}});
}

TEST_CASE(
    "a divisor that only the sum over a row has stays in it: it may be 0 where nothing is summed") {
    const std::string text = "Y[i,j] := b[i] != 0 ? X[i,j]/b[i] : 0";
    const Program program = grad::gradient(parse_program(text), "b");
    const Array b = Array::from({1.5, 0.0, -2.0}, {3});
    const Arrays result =
        evaluate(program, {{"X", numbers({3, 4})}, {"b", b}, {"dY", numbers({3, 4}, 6)}});
    CHECK(result.at("db").at({1}) == 0);
    CHECK(std::isfinite(result.at("db").at({0})));
}

TEST_CASE("what the forward computes stays as it is") {
    check_gradients(
        "u[i] := a[i]/s[i]; w[i] := C[i,k]/s[i]; Y[i] := u[i]*g[i] + h[i]/s[i];"
        "Z[i] := a[i]*(w[i] + h[i]/s[i]); R[i] := B[i]*sin(Y[i])*sin(Z[i])",
        {{"a", numbers({3}, 1)},
         {"s", uniform({3}, 1, 2, 2)},
         {"g", numbers({3}, 3)},
         {"h", numbers({3}, 4)},
         {"C", numbers({3, 2}, 5)},
         {"B", numbers({3}, 6)}});
}

TEST_CASE("integers are divided one by one: their sum may not fit") {
    const std::string text = "u[i] := J[i]/n[i]; Y[i] := exp(K[i]/n[i] + u[i]); R[i] := B[i]*Y[i]";
    const Array large = Array::full(DType::u8, {2}, 200);
    const Program program = grad::gradient(parse_program(text), "B");
    const Arrays result = evaluate(program, {{"B", numbers({2}, 1)},
                                             {"J", large},
                                             {"K", large},
                                             {"n", large},
                                             {"dR", Array::full(DType::f64, {2}, 1)}});
    CHECK(result.at("dB").at({0}) == doctest::Approx(std::exp(2)));
}

TEST_CASE("in padding nothing is divided") {
    check_gradients(
        "s[i] := D[i]+1; u[i] := sum[k](A[i,k]/s[i]);"
        "Y[i] := exp(B[i]/s[pad(i-1,value=2)] + u[pad(i-1,value=2)]) where i in 0:3",
        {{"D", uniform({3}, 1, 2, 1)}, {"A", numbers({3, 2}, 2)}, {"B", numbers({3}, 3)}});
    check_gradients(
        "u[i] := sum[k](A[i,k]/s[i]); P[i,j] := E[i,j]/s[i];"
        "Y[i,j] := exp(B[i]*P[pad(i-1),j] + u[pad(i-1)]) where i in 0:2",
        {{"s", uniform({3}, 1, 2, 1)},
         {"A", numbers({3, 2}, 2)},
         {"B", numbers({2}, 3)},
         {"E", numbers({3, 2}, 4)}});
}

TEST_CASE("masked softmax whose rows may be empty has no derivative there") {
    const std::string text = "P[q,k] := k < n[q] ? exp(X[q,k])/sum[l | l < n[q]](exp(X[q,l])) : 0";
    const Program program = grad::gradient(parse_program(text), "X");
    const Array n = Array::from({0.0, 2.0, 4.0}, {3});
    const Arrays result =
        evaluate(program, {{"X", numbers({3, 4})}, {"n", n}, {"dP", numbers({3, 4}, 6)}});
    for (std::int64_t k = 0; k < 4; ++k) CHECK(result.at("dX").at({0, k}) == 0);
    for (std::int64_t k = 0; k < 4; ++k) CHECK(std::isfinite(result.at("dX").at({1, k})));
}

TEST_CASE("a norm has the derivative 0 where it is 0, in both modes and in the second order") {
    const std::string text = "y[i] := norm[k](X[i,k])";
    const Array x = Array::from({0.0, 0.0, 0.0, 1.0, 2.0, -2.0}, {2, 3});
    const Program gradient = grad::gradient(parse_program(text), "X");
    const Arrays first = evaluate(gradient, {{"X", x}, {"dy", numbers({2}, 6)}});
    for (std::int64_t k = 0; k < 3; ++k) CHECK(first.at("dX").at({0, k}) == 0);
    CHECK(first.at("dX").at({1, 0}) != 0);
    const Program second = grad::gradient(gradient, "dy");
    const Arrays tangent = evaluate(second, {{"X", x}, {"dy", numbers({2}, 6)}, {"ddX", x}});
    CHECK(tangent.at("ddy").at({0}) == 0);
    check_gradients(text, {{"X", numbers({2, 3})}});
}

}  // namespace ricci::tests
