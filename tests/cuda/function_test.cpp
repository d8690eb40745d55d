// tests/cuda/function_test.cpp – whole programs on an emulated GPU: values, updates, transfers
#include "runtime/function.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "runtime/function_state.h"
#include "runtime/reference.h"
#include "tests/cuda/emulated_gpu.h"
#include "tests/support/compare.h"
#include "tests/support/error_text.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

/// What is wrong with the GPU's result of a function; empty when it is the reference's.
std::string difference(const Function& function, const Arguments& arguments) {
    Signature signature;
    for (const auto& [name, array] : arguments)
        signature.emplace(name, runtime::spec_of(array, array.rank() == 0));
    const BoundProgram bound = ricci::bind(canonicalise(function.program()), signature);
    std::vector<Array> ordered;
    for (const TensorId id : bound.arguments)
        ordered.push_back(
            std::ranges::find(arguments, bound.at(id).name, &Arguments::value_type::first)->second);
    const auto expected = runtime::evaluate_with_bounds(bound, ordered);
    return compare(function(arguments), expected.front()).failure;
}

std::vector<float> values_of(const Array& array) {
    const Array whole = array.contiguous();
    const auto span = whole.span<const float>();
    return {span.begin(), span.end()};
}

const char* const layer_text = "Y[n,o] := relu(sum[k](W[o,k]*X[n,k]) + b[o])";

Arguments layer_arguments() {
    return {{"W", Array::randn(DType::f32, {5, 9}, 1)},
            {"X", Array::randn(DType::f32, {7, 9}, 2)},
            {"b", Array::randn(DType::f32, {5}, 3)}};
}

TEST_CASE("programs of every strategy give the reference's results") {
    const EmulatedGpu emulated(deferred(5));
    const auto check = [](const char* text, const Arguments& arguments) {
        CAPTURE(text);
        CHECK(difference(compile(text, "f", Device::cuda), arguments) == "");
    };
    check(layer_text, layer_arguments());
    check("y[i] := exp(x[i]) + 2*x[i]", {{"x", Array::randn(DType::f64, {1000})}});
    check("B[j,i] := A[i,j]", {{"A", Array::randn(DType::f32, {40, 50})}});
    check("s := sum[i](x[i])", {{"x", Array::randn(DType::f32, {3000})}});
    check("m[j] := max[i](A[i,j])", {{"A", Array::randn(DType::f32, {60, 30})}});
    check("S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
          {{"X", Array::randn(DType::f32, {6, 70})}});
}

TEST_CASE("a gradient on the GPU is the reference's") {
    const EmulatedGpu emulated(deferred(6));
    const Function layer = compile(layer_text, "layer", Device::cuda);
    Arguments arguments = layer_arguments();
    arguments.emplace_back("dY", Array::randn(DType::f32, {7, 5}, 4));
    for (const char* name : {"W", "X", "b"}) {
        CAPTURE(name);
        const Function gradient = layer.grad(name);
        Arguments needed;
        for (const auto& [argument, array] : arguments)
            if (gradient.program().argument(argument)) needed.emplace_back(argument, array);
        CHECK(difference(gradient, needed) == "");
    }
}

TEST_CASE("results stay on the GPU from one function to the next") {
    const EmulatedGpu emulated(deferred(1));
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
    const Array x = Array::arange(DType::f32, {100});
    Array y = twice(x);
    CHECK(y.device() == Device::cuda);
    CHECK(x.device() == Device::cuda);
    const std::int64_t to = emulated.device.calls("cuMemcpyHtoDAsync_v2");
    for (int i = 0; i < 5; ++i) y = twice(y);
    (void)twice(x);
    CHECK(emulated.device.calls("cuMemcpyHtoDAsync_v2") == to);
    CHECK(emulated.device.calls("cuMemcpyDtoHAsync_v2") == 0);
    CHECK(y.at({3}) == 3 * 64);
    CHECK(emulated.device.calls("cuMemcpyDtoHAsync_v2") == 1);
}

TEST_CASE("the reference evaluator takes arrays from the GPU") {
    const EmulatedGpu emulated;
    const Array x = Array::arange(DType::f32, {10}).to(Device::cuda);
    const Function twice = compile("y[i] := 2*x[i]", "twice", Device::reference);
    CHECK(twice(x).at({9}) == 18);
}

TEST_CASE("an argument is updated where it is") {
    const EmulatedGpu emulated(deferred(2));
    const Function add = compile("a[i] += 2*x[i]", "add", Device::cuda);
    Array a = Array::full(DType::f32, {50}, 1);
    const Array x = Array::arange(DType::f32, {50});
    const Array result = add(a, x);
    CHECK(a.device() == Device::cuda);
    CHECK(a.at({4}) == 9);
    CHECK(values_of(result) == values_of(a));
    (void)add(a, x);
    CHECK(a.at({4}) == 17);
    a.span<float>()[4] = 0;
    (void)add(a, x);
    CHECK(a.at({4}) == 8);
    CHECK(a.at({5}) == 31);
}

TEST_CASE("a view that begins anywhere is read and updated in place") {
    const EmulatedGpu emulated(deferred(3));
    const Function add = compile("a[i] += x[i]", "add", Device::cuda);
    for (const std::int64_t first : {1, 2, 3}) {
        CAPTURE(first);
        const Array a = Array::full(DType::f32, {40}, 1);
        const Array x = Array::arange(DType::f32, {50});
        (void)add(a.slice(0, first, first + 20), x.slice(0, 5, 25));
        CHECK(a.at({first - 1}) == 1);
        CHECK(a.at({first}) == 6);
        CHECK(a.at({first + 19}) == 25);
        CHECK(a.at({first + 20}) == 1);
    }
}

TEST_CASE("strided views are read and updated in place") {
    const EmulatedGpu emulated(deferred(4));
    const Function add = compile("a[i,j] += x[i,j]", "add", Device::cuda);
    const Array a = Array::zeros(DType::f32, {6, 5});
    const Array x = Array::arange(DType::f32, {7, 6});
    (void)add(a.slice(1, 1, 4), x.slice(0, 2, 5).transpose({1, 0}));
    for (std::int64_t i = 0; i < 6; ++i) {
        CHECK(a.at({i, 0}) == 0);
        for (std::int64_t j = 0; j < 3; ++j) CHECK(a.at({i, 1 + j}) == (2 + j) * 6 + i);
        CHECK(a.at({i, 4}) == 0);
    }
}

TEST_CASE("the user's memory is read at every call and holds what is updated when it returns") {
    const EmulatedGpu emulated(deferred(8));
    const Function add = compile("a[i] += 2*x[i]", "add", Device::cuda);
    std::vector<float> memory(20, 1);
    std::vector<float> source(10, 3);
    const Array every_second = Array::view(memory.data(), {10}, {2});
    const Array x = Array::view(source.data(), {10});
    (void)add(every_second, x);
    for (std::size_t i = 0; i < memory.size(); ++i) CHECK(memory[i] == (i % 2 == 0 ? 7 : 1));
    source[9] = 100;
    memory[0] = 0;
    (void)add(every_second, x);
    CHECK(memory[0] == 6);
    CHECK(memory[18] == 207);
    CHECK(memory[19] == 1);
}

TEST_CASE("an updated argument may not share memory with another one") {
    const EmulatedGpu emulated;
    const Function add = compile("a[i] += x[i] + 1", "add", Device::cuda);
    const Array a = Array::zeros(DType::f32, {10}).to(Device::cuda);
    const auto call = [&] { (void)add(a.slice(0, 0, 5), a.slice(0, 4, 9)); };
    CHECK(error_text(call) ==
          "range: argument `a` is updated and shares memory with argument `x`\n"
          "  = hint: give a copy of `x`");
    (void)add(a.slice(0, 0, 5), a.slice(0, 5, 10));
    (void)add(a, a);
    CHECK(a.at({9}) == 1);
    CHECK(a.at({0}) == 3);
}

TEST_CASE("empty arrays, scalars and numbers are arguments") {
    const EmulatedGpu emulated;
    const Function scale = compile("y[i] := c*x[i]", "scale", Device::cuda);
    CHECK(scale(2, Array::zeros(DType::f32, {0})).size() == 0);
    CHECK(scale(2.5, Array::full(DType::f32, {3}, 2)).at({2}) == 5);
    const Function shifted = compile("y[i] := x[i+$s] where i in 0:2", "shifted", Device::cuda);
    CHECK(shifted(Array::arange(DType::f32, {5}), 3).at({1}) == 4);
}

double half_wave(double x) { return x > 0 ? x * x : 0; }

TEST_CASE("a registered function is called by a kernel as its CUDA text says") {
    register_function({.name = "half_wave",
                       .value = &half_wave,
                       .derivatives = {"x > 0 ? 2*x : 0"},
                       .cuda = "x > 0 ? x * x : 0"});
    register_function({.name = "host_only", .value = &half_wave});
    const EmulatedGpu emulated;
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Arguments at{{"x", Array::randn(dtype, {300}, 1)}};
        CHECK(difference(compile("y[i] := half_wave(3*x[i]) + x[i]", "f", Device::cuda), at) == "");
        CHECK(difference(compile("y := half_wave(x[i])", "f", Device::cuda), at) == "");
    }
    CHECK(error_text([] {
              (void)compile("y[i] := host_only(x[i])", "f",
                            Device::cuda)(Array::zeros(DType::f32, {3}));
          }) ==
          "device: `host_only` was registered without CUDA text\n"
          "  = hint: give `cuda` to register_function, or run on the CPU");
}

TEST_CASE("a function goes on when the GPU was given up and is there again") {
    std::optional<Function> twice;
    {
        const EmulatedGpu emulated;
        twice = compile("y[i] := 2*x[i]", "twice", Device::cuda);
        CHECK((*twice)(Array::arange(DType::f32, {4})).at({3}) == 6);
    }
    const EmulatedGpu emulated;
    CHECK((*twice)(Array::arange(DType::f32, {4})).at({3}) == 6);
}

}  // namespace
}  // namespace ricci::tests
