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
