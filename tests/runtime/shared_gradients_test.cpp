// tests/runtime/shared_gradients_test.cpp – gradients of several arguments that share their work
#include <algorithm>
#include <cmath>
#include <complex>

#include <doctest/doctest.h>

#include "base/text.h"
#include "grad/gradient.h"
#include "runtime/function.h"
#include "runtime/tape.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

const char* const network =
    "H[n,h] := tanh(sum[k](A[h,k]*X[n,k]) + a[h])\n"
    "Y[n,o] := sum[h](B[o,h]*H[n,h]) + b[o]";

Array numbers(Shape shape, std::uint64_t seed) {
    return Array::randn(DType::f64, std::move(shape), seed);
}

Arguments network_arguments() {
    return {{"A", numbers({6, 5}, 1)}, {"X", numbers({4, 5}, 2)}, {"a", numbers({6}, 3)},
            {"B", numbers({3, 6}, 4)}, {"b", numbers({3}, 5)},    {"dY", numbers({4, 3}, 6)}};
}

void check_close(const Array& found, const Array& expected) {
    REQUIRE(found.shape() == expected.shape());
    const auto a = found.span<const double>();
    const auto b = expected.span<const double>();
    for (std::size_t n = 0; n < a.size(); ++n)
        CHECK(std::abs(a[n] - b[n]) <= 1e-12 * (1 + std::abs(b[n])));
}

std::size_t reductions(const Program& program) {
    return static_cast<std::size_t>(
        std::ranges::count_if(program.equations, [](const Equation& equation) {
            return std::holds_alternative<Reduce>(equation.value->term);
        }));
}

}  // namespace

TEST_CASE("gradients that are asked for together are those that are asked for one by one") {
    const Function f = compile(network, "network");
    const std::vector<std::string> names{"A", "a", "B", "b", "X"};
    const Function together = f.grads(names);
    const std::vector<Array> found =
        together.call(network_arguments(), {"dA", "da", "dB", "db", "dX"});
    for (std::size_t n = 0; n < names.size(); ++n)
        check_close(found[n], f.grad(names[n])(network_arguments()));
    check_close(together.call(network_arguments(), {"db"}).front(),
                f.grad("b")(network_arguments()));
}

TEST_CASE("what several gradients reduce is reduced once") {
    const grad::Pair pair = grad::cut(parse_program(network), {"A", "a", "B", "b"});
    REQUIRE(pair.shared);
    std::size_t apart = 0;
    for (const Program& backward : pair.backward) apart += reductions(backward);
    CHECK(apart == 6);  // the cotangent of H for both of A and a
    CHECK(reductions(*pair.shared) == 5);
    CHECK(pair.shared->outputs.size() == 4);
}

TEST_CASE("gradients that share nothing to speak of are computed apart") {
    const Program linear = parse_program("Y[n,o] := W[o,k]*X[n,k] + b[o]");
    CHECK(!grad::cut(linear, {"W", "X", "b"}).shared);
    CHECK(!grad::cut(parse_program(network), {"A"}).shared);
}

TEST_CASE("the tape takes all gradients of a call at once where they share work") {
    const Function f = compile(network, "network");
    std::vector<Var> variables;
    const Arguments arguments = network_arguments();
    for (const std::string name : {"A", "X", "a", "B", "b"}) {
        const auto given = std::ranges::find(arguments, name, &Arguments::value_type::first);
        variables.push_back(name == "X" ? Var(given->second) : param(given->second));
    }
    const Var value = ricci::apply(f, variables);
    ricci::backward(value, {.cotangent = arguments.back().second});
    for (const auto& [position, name] :
         {std::pair(0, "A"), std::pair(2, "a"), std::pair(3, "B"), std::pair(4, "b")})
        check_close(variables[std::size_t(position)].grad(), f.grad(name)(arguments));
}

TEST_CASE("a gradient written by hand stays out of those computed together") {
    const Function f = compile(network, "network");
    Function mine = f;
    mine.set_gradient("a", [](const Arguments&) { return Array::full(DType::f64, {6}, 7.0); });
    std::vector<Var> variables;
    Arguments arguments = network_arguments();
    arguments.pop_back();
    for (const auto& [name, array] : arguments) variables.push_back(param(array));
    const Var value = ricci::apply(mine, variables);
    ricci::backward(value, {.cotangent = network_arguments().back().second});
    CHECK(variables[2].grad().at({3}) == 7.0);
    check_close(variables[0].grad(), f.grad("A")(network_arguments()));
    mine.set_gradient("a", Function::Gradient());
}

TEST_CASE("arguments that a program updates, and complex ones") {
    const Function update = compile("B[i] *= s[i]", "update");
    const Arguments given{{"B", numbers({4}, 1)}, {"s", numbers({4}, 2)}, {"dB", numbers({4}, 3)}};
    const std::vector<Array> found = update.grads({"B", "s"}).call(copies(given), {"dB", "ds"});
    check_close(found[0], update.grad("B")(copies(given)));
    check_close(found[1], update.grad("s")(copies(given)));

    const Function product = compile("Y[i] := x[i]*z[i]", "product");
    const Array z = Array::from<std::complex<double>>({{1, 2}, {0, -1}}, {2});
    const Array x = Array::from<double>({2, 3}, {2});
    const std::vector<Array> complex =
        product.grads({"x", "z"}).call({{"x", x}, {"z", z}, {"dY", z}}, {"dx", "dz"});
    CHECK(complex[0].at({0}) == 5);
    CHECK(complex[0].at({1}) == 1);
    CHECK(complex[1].dtype() == DType::c128);
}

TEST_CASE("what is asked for is named once, and is there") {
    const Function f = compile(network, "network");
    CHECK(error_text([&] { (void)f.grads({"A", "A"}); }) ==
          "name: the gradient of `A` is asked for twice\n"
          "  = hint: name each argument once");
    CHECK(error_text([&] { (void)f.grads({}); }) ==
          "name: no argument is given whose gradient is wanted\n"
          "  = hint: name some: `f.grads({\"W\", \"b\"})`");
    CHECK(error_text([&] { (void)f.grads({"A", "Q"}); }).find("no argument `Q`") !=
          std::string::npos);
}

}  // namespace ricci::tests
