// tests/grad/second_order_test.cpp – derivatives of derivatives: text, and values against
// differences of gradients
#include <doctest/doctest.h>

#include "base/text.h"
#include "grad/gradient.h"
#include "grad/jvp.h"
#include "tests/grad/numeric.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

Array numbers(Shape shape, std::uint64_t seed = 5) {
    return uniform(std::move(shape), -2, 2, seed);
}

/// Checks the derivatives, in both modes, of the gradient and of the tangent for each argument.
void check_second_order(const std::string& text, const Arrays& arguments) {
    CAPTURE(text);
    const Program forward = parse_program(text);
    const std::string output = forward.at(forward.result()).name;
    Arrays all = arguments;
    all["d" + output] = uniform(evaluate(forward, arguments).at(output).shape(), 0.5, 1.5, 31);
    for (const auto& [name, array] : arguments) all["d" + name] = uniform(array.shape(), -1, 1, 32);
    for (const auto& [name, array] : arguments) {
        for (const Program& first : {grad::gradient(forward, name), grad::jvp(forward, {name})}) {
            const Program printed = parse_program(str(first));
            Arrays needed;
            for (const TensorId id : printed.arguments)
                needed.emplace(printed.at(id).name, all.at(printed.at(id).name));
            check_gradients(str(first), needed);
        }
    }
}

}  // namespace

TEST_CASE("derivatives of derivatives agree with differences") {
    check_second_order("Y[i] := A[i]^3*B[i] + exp(A[i]*B[i])",
                       {{"A", numbers({4})}, {"B", numbers({4}, 8)}});
    check_second_order("Y[n,o] := tanh(sum[k](W[o,k]*X[n,k]) + b[o])",
                       {{"W", numbers({3, 4})}, {"X", numbers({2, 4}, 6)}, {"b", numbers({3}, 7)}});
    check_second_order("Y[i] := logsumexp[k](A[i,k]) + norm[k](A[i,k]) + mean[k](A[i,k]^2)",
                       {{"A", numbers({2, 3})}});
    check_second_order("m := max[i,j](A[i,j]^2*B[j])",
                       {{"A", numbers({3, 4})}, {"B", numbers({4}, 3)}});
    check_second_order("O[t] := A[pad(t+k-1,1)]*F[k]",
                       {{"A", numbers({5})}, {"F", numbers({3}, 4)}});
}

TEST_CASE("derivatives of derivatives of updates agree with differences") {
    check_second_order("O[i] := X[i]^2; O[i+k] += Z[i]^2*W[k] where i in 0:3, k in 0:2",
                       {{"X", numbers({4})}, {"Z", numbers({3}, 7)}, {"W", numbers({2}, 3)}});
    check_second_order("O[i] := X[i]^2; O[i+k] *= Z[i]*W[k] where i in 0:3, k in 0:2",
                       {{"X", numbers({4})}, {"Z", numbers({3}, 7)}, {"W", numbers({2}, 3)}});
    check_second_order("O[i] := X[i]^2; O[i+1] = Z[i]^3 where i in 0:2",
                       {{"X", numbers({4})}, {"Z", numbers({2}, 7)}});
}

TEST_CASE("derivatives of derivatives of products between bounds agree with differences") {
    check_second_order("P[t] := prod[s | s <= t](A[s]) where t in 0:size(A,0)",
                       {{"A", numbers({5})}});
    check_second_order(
        "Y[t] := sum[s | s <= t](X[s]*prod[u | u > s && u <= t](a[u]))"
        " where t in 0:size(X,0)",
        {{"X", numbers({4})}, {"a", numbers({4}, 3)}});
}

TEST_CASE("second derivatives of a product are exact with zeros among the factors") {
    // Of x*y*z with a zero or two among them, the derivative by two is the third.
    const Program forward = parse_program("p := prod[k](A[k])");
    const Program gradient = grad::gradient(forward, "A");
    for (const std::vector<double>& factors :
         {std::vector<double>{2, 3, 5}, {0, 3, 5}, {0, 0, 5}, {0, 0, 0}, {2, 0, 0}, {2, 3, 0}}) {
        CAPTURE(factors[0]);
        CAPTURE(factors[1]);
        CAPTURE(factors[2]);
        for (std::size_t by = 0; by < 3; ++by) {
            std::vector<double> direction(3, 0.0);
            direction[by] = 1;
            const Arrays at = {{"A", Array::from<double>(factors, {3})},
                               {"dp", Array::full(DType::f64, {}, 1)},
                               {"dA_", Array::from<double>(direction, {3})},
                               {"ddA", Array::from<double>(direction, {3})}};
            const Array forwards = evaluate(grad::jvp(gradient, {"A"}), at).begin()->second;
            const Array backwards = evaluate(grad::gradient(gradient, "A"), at).begin()->second;
            for (std::size_t n = 0; n < 3; ++n) {
                const double expected = n == by ? 0 : factors[3 - n - by];
                CHECK(forwards.span<double>()[n] == expected);
                CHECK(backwards.span<double>()[n] == expected);
            }
        }
    }
}

TEST_CASE("second derivatives of updates by factors are exact with zeros among them") {
    // P[0] becomes the product of what was there and of both factors.
    const Program forward = parse_program("P[i] := B[i]; P[J[n]] *= A[n]");
    const Program gradient = grad::gradient(forward, "A");
    const std::string tangent = str(grad::jvp(gradient, {"A"}));
    for (const double zero : {0.0, 3.0}) {
        CAPTURE(zero);
        CAPTURE(tangent);
        const Arrays at = {{"A", Array::from<double>({zero, 0}, {2})},
                           {"B", Array::from<double>({7, 1}, {2})},
                           {"J", Array::from<std::int64_t>({0, 0}, {2})},
                           {"dP", Array::from<double>({1, 1}, {2})},
                           {"dA_", Array::from<double>({1, 0}, {2})},
                           {"ddA", Array::from<double>({1, 0}, {2})}};
        for (const Program& second : {grad::jvp(gradient, {"A"}), grad::gradient(gradient, "A")}) {
            const Array found = evaluate(second, at).begin()->second;
            CHECK(found.at({0}) == 0);
            CHECK(found.at({1}) == 7);
        }
        const Program by_old = grad::gradient(forward, "B");
        const Arrays moved = {{"A", Array::from<double>({zero, 0}, {2})},
                              {"B", Array::from<double>({7, 1}, {2})},
                              {"J", Array::from<std::int64_t>({0, 0}, {2})},
                              {"dP", Array::from<double>({1, 1}, {2})},
                              {"dA", Array::from<double>({0, 1}, {2})}};
        CHECK(evaluate(grad::jvp(by_old, {"A"}), moved).begin()->second.at({0}) == zero);
    }
}

TEST_CASE("second derivatives of powers at an exponent of zero") {
    const Program gradient = grad::gradient(parse_program("y := x^p"), "x");
    const Arrays at = {{"x", Array::full(DType::f64, {}, 2)},
                       {"p", Array::full(DType::f64, {}, 0)},
                       {"dy", Array::full(DType::f64, {}, 1)},
                       {"dp", Array::full(DType::f64, {}, 1)}};
    CHECK(evaluate(grad::jvp(gradient, {"p"}), at).begin()->second.item() == 0.5);
}
