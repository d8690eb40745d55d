// tests/grad/cut_test.cpp – forwards that save and backwards that take agree with joint gradients
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/grad/numeric.h"
#include "tests/support/error_text.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

Array numbers(Shape shape, std::uint64_t seed = 5) {
    return uniform(std::move(shape), -2, 2, seed);
}

/// Checks that forward and backwards give what the program and its gradients give; returns what is
/// saved.
std::vector<std::string> check_pair(const std::string& text, const Arrays& arguments) {
    CAPTURE(text);
    const Program program = parse_program(text);
    std::vector<std::string> names;
    for (const auto& [name, array] : arguments) names.push_back(name);
    const grad::Pair pair = grad::cut(program, names);
    const std::string output = program.at(program.result()).name;

    std::vector<std::string> outputs = pair.saved;
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
        outputs.push_back(output);
    }
    Arrays all = evaluate(pair.forward, arguments, outputs);
    const Array value = evaluate(program, arguments).at(output);
    CHECK(pair.forward.at(pair.forward.result()).name == output);
    for (std::size_t n = 0; n < value.span<double>().size(); ++n) {
        CHECK(all.at(output).span<double>()[n] == value.span<double>()[n]);
    }
    all.insert(arguments.begin(), arguments.end());
    all.emplace("d" + output, numbers(value.shape(), 9));
    for (std::size_t a = 0; a < names.size(); ++a) {
        const std::string name = "d" + names[a];
        CAPTURE(str(pair.backward[a]));
        const Array found = evaluate(pair.backward[a], all).at(name);
        const Array expected = evaluate(grad::gradient(program, names[a]), all).at(name);
        for (std::size_t n = 0; n < expected.span<double>().size(); ++n) {
            const double a_value = found.span<double>()[n];
            const double b_value = expected.span<double>()[n];
            CHECK(std::abs(a_value - b_value) <= 1e-12 * (1 + std::abs(b_value)));
        }
    }
    return pair.saved;
}

}  // namespace

TEST_CASE("a quotient by a sum is given as it was asked for") {
    check_pair("Y[i] := X[i]/(1+exp(X[i]))", {{"X", numbers({4})}});
    check_pair("u[i] := sum[k](A[i,k]/s[i]); Y[i] := u[i] + B[i]/s[i]",
               {{"A", numbers({3, 2})}, {"B", numbers({3})}, {"s", uniform({3}, 1, 2, 6)}});
}

TEST_CASE("a linear layer saves nothing") {
    CHECK(check_pair("Y[n,o] := W[o,k]*X[n,k] + b[o]",
                     {{"W", numbers({3, 4})}, {"X", numbers({2, 4})}, {"b", numbers({3})}})
              .empty());
}

TEST_CASE("a layer with an activation saves its output, not the sum before it") {
    CHECK(check_pair("H[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])",
                     {{"W", numbers({3, 4})}, {"X", numbers({2, 4})}, {"b", numbers({3})}}) ==
          std::vector<std::string>{"H"});
}

TEST_CASE("pointwise values are computed again, reductions are saved") {
    CHECK(check_pair("E[i] := exp(A[i]); s := sum[i](E[i]*A[i]); Y[i] := tanh(E[i]*B[i]*s)",
                     {{"A", numbers({4})}, {"B", numbers({4}, 7)}}) ==
          std::vector<std::string>{"E", "s", "Y"});
}

TEST_CASE("a maximum saves where it was found") {
    CHECK(
        check_pair("M[i] := max[k](A[i,k]*B[k])", {{"A", numbers({3, 4})}, {"B", numbers({4}, 7)}})
            .size() == 1);
}

TEST_CASE("softmax, layer norm and two layers") {
    check_pair("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
               {{"X", numbers({3, 5})}});
    check_pair(
        "Y[n,d] := (X[n,d] - mean[c](X[n,c]))*g[d]"
        " / sqrt(mean[c]((X[n,c] - mean[e](X[n,e]))^2) + 1e-5) + b[d]",
        {{"X", numbers({3, 5})}, {"g", numbers({5})}, {"b", numbers({5})}});
    check_pair(
        "H[n,h] := tanh(sum[k](A[h,k]*X[n,k]))\nY[n,o] := B[o,h]*H[n,h]\n"
        "loss := (Y[n,o] - T[n,o])^2",
        {{"A", numbers({3, 4})},
         {"B", numbers({2, 3})},
         {"X", numbers({2, 4}, 8)},
         {"T", numbers({2, 2}, 9)}});
}

TEST_CASE("updates of a new array") {
    check_pair("C[i] := X[i]^2; C[2*i] += Z[i]*X[i] where i in 0:2; C[i] *= Z[i]",
               {{"X", numbers({4})}, {"Z", numbers({4}, 7)}});
}

TEST_CASE("a forward that writes to its argument is not cut") {
    const Program program = parse_program("B[i] *= s[i]");
    CHECK(error_text([&] { (void)grad::cut(program, {"s"}); }) ==
          "gradient: a forward that updates its argument `B` cannot be cut from its backward; this "
          "is not supported yet\n"
          "  | B[i] *= s[i]\n"
          "  | ^^^^^^^^^^^^\n"
          "  = hint: make a new array with `:=`");
}
