// tests/runtime/tape_checkpoint_test.cpp – what is computed again instead of kept
#include <memory>

#include <doctest/doctest.h>

#include "runtime/tape.h"
#include "tests/support/error_text.h"

namespace ricci {
namespace {

using tests::error_text;

const Function& layer() {
    static const Function f = compile("Y[n,o] := tanh(sum[k](W[o,k]*X[n,k]))", "layer");
    return f;
}
const Function& total() {
    static const Function f = compile("L := sum[n,o](Y[n,o]^2)", "total");
    return f;
}

struct Network {
    Var first = param(Array::randn(DType::f64, {4, 3}, 1));
    Var second = param(Array::randn(DType::f64, {2, 4}, 2));
    Var X = Array::randn(DType::f64, {5, 3}, 3);

    /// The gradients of both layers, through `run`.
    template <class Run>
    std::string gradients(Run run) {
        first.clear_grad();
        second.clear_grad();
        backward(total()(run()));
        return str(first.grad()) + str(second.grad());
    }
};

TEST_CASE("a checkpoint has the same gradients, bit by bit") {
    Network n;
    const std::string plain = n.gradients([&] { return layer()(n.second, layer()(n.first, n.X)); });
    const std::string given = n.gradients([&] {
        return checkpoint(
            [](const std::vector<Var>& v) { return layer()(v[1], layer()(v[0], v[2])); },
            {n.first, n.second, n.X});
    });
    const std::string captured = n.gradients([&] {
        return checkpoint(
            [&](const std::vector<Var>& v) { return layer()(n.second, layer()(n.first, v[0])); },
            {n.X});
    });
    const std::string nested = n.gradients([&] {
        return checkpoint(
            [&](const std::vector<Var>& v) {
                return layer()(n.second, checkpoint(layer(), {v[0], n.X}));
            },
            {n.first});
    });
    CHECK(given == plain);
    CHECK(captured == plain);
    CHECK(nested == plain);
}

TEST_CASE("a checkpoint keeps nothing of its inside, and computes it once more") {
    Network n;
    int count = 0;
    std::weak_ptr<runtime::Storage> inside;
    const Var y = checkpoint(
        [&](const std::vector<Var>& v) {
            ++count;
            const Var hidden = layer()(v[0], n.X);
            inside = hidden.value().storage();
            return layer()(n.second, hidden);
        },
        {n.first});
    CHECK(count == 1);
    CHECK(inside.expired());
    backward(total()(y));
    CHECK(count == 2);
    CHECK(inside.expired());
    CHECK(!n.first.grad().is_empty_handle());
}

TEST_CASE("a retained checkpoint is computed again for each walk") {
    const Function square = compile("y := x^2");
    const Var x = param(Array::full(DType::f64, {}, 3));
    const Var y = checkpoint(square, {x});
    backward(y, {.retain = true});
    backward(y);
    CHECK(x.grad().item() == 12);
}

TEST_CASE("variables made before a checkpoint get their gradients through it") {
    const Function square = compile("y := x^2");
    const Function product = compile("z := x*y");
    const Var x = param(Array::full(DType::f64, {}, 3));
    const Var early = square(x);  // x^2
    const Var y = checkpoint(
        [&](const std::vector<Var>& v) { return product(square(v[0]), early); }, {early});  // x^6
    backward(y);
    CHECK(x.grad().item() == 6 * 243);
    // What is handed through unchanged.
    const Var z = param(Array::full(DType::f64, {}, 3));
    backward(checkpoint([](const std::vector<Var>& v) { return v[0]; }, {z}));
    CHECK(z.grad().item() == 1);
}

TEST_CASE("a checkpoint without parameters is a constant") {
    const Function square = compile("y := x^2");
    CHECK(!checkpoint(square, {Var(2.0)}).requires_grad());
    const NoGrad scope;
    CHECK(!checkpoint(square, {param(Array::full(DType::f64, {}, 3))}).requires_grad());
}

TEST_CASE("a chain of many checkpoints is taken apart without deep recursion") {
    const Function next = compile("y := x + 1");
    const Var x = param(Array::full(DType::f64, {}, 0));
    Var y = x;
    for (int i = 0; i < 20'000; ++i) y = checkpoint(next, {y});
    CHECK(y.value().item() == 20'000);
    y = x;
    for (int i = 0; i < 2'000; ++i) y = checkpoint(next, {y});
    backward(y);
    CHECK(x.grad().item() == 1);
}

TEST_CASE("a checkpoint that is not the same again is told, and changes nothing") {
    const Function square = compile("y := x^2");
    Var x = param(Array::full(DType::f64, {}, 3));
    const Var y = checkpoint(square, {x});
    x.set_value(Array::full(DType::f64, {}, 4));
    CHECK(error_text([&] { backward(y); }) ==
          "gradient: the value of a variable that a checkpoint used was replaced\n"
          "  = hint: call backward before set_value");
    const auto with_parameter = [&](const std::vector<Var>& v) {
        const Function product = compile("z := x*y");
        return product(v[0], param(Array::full(DType::f64, {}, 2)));
    };
    const Var z = checkpoint(with_parameter, {x});
    CHECK(error_text([&] { backward(z); }) ==
          "gradient: a checkpoint used other variables when it was computed again\n"
          "  = hint: make parameters outside of it, and let it do the same each time");
    int count = 0;
    const auto growing = [&](const std::vector<Var>& v) {
        return compile("y[i] := x where i in 0:$n")(v[0], ++count);
    };
    const Var w = checkpoint(growing, {x});
    CHECK(error_text([&] { backward(w, {.cotangent = Array::full(DType::f64, {1}, 1)}); }) ==
          "gradient: a checkpoint gave [1] of f64, and [2] of f64 when it was computed again\n"
          "  = hint: let it do the same each time");
    CHECK(x.grad().is_empty_handle());
    const Function add = compile("y[i] += x[i]", "add");
    const Var p = param(Array::full(DType::f64, {2}, 1));
    CHECK(error_text([&] { (void)checkpoint(add, {p, p}); }) ==
          "gradient: `add` changes its argument `y` in place, which the tape cannot undo\n"
          "  = hint: call it with arrays or under NoGrad, or write the result to a new array with "
          "`:=`");
}

}  // namespace
}  // namespace ricci
