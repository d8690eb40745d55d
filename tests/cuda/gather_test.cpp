// tests/cuda/gather_test.cpp – subscripts that are data or modified, on an emulated GPU
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/cuda/emulated_gpu.h"
#include "tests/support/error_text.h"

#include "ricci/ricci.h"

namespace ricci::tests {
namespace {

Array ramp(Shape shape) { return Array::arange(DType::f64, std::move(shape)); }
Array keys(std::initializer_list<std::int64_t> values) {
    return Array::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

std::string run_on(Device device, const std::string& text, const std::string& wrt,
                   const Arguments& arguments) {
    std::string result;
    const std::string error = error_text([&] {
        const Function forward = compile(text, "f", device);
        const Function function = wrt.empty() ? forward : forward.grad(wrt);
        result = str(function(copies(arguments)));
    });
    return result.empty() ? error : result;
}

/// What the GPU gives, or how it differs from the reference.
std::string run(const std::string& text, const Arguments& arguments, const std::string& wrt = "") {
    const std::string found = run_on(Device::cuda, text, wrt, arguments);
    const std::string expected = run_on(Device::reference, text, wrt, arguments);
    return found == expected ? found : format("cuda:\n{}\nreference:\n{}", found, expected);
}

TEST_CASE("a kernel reads and writes at places that an array holds") {
    const EmulatedGpu emulated(deferred(1));
    const Arguments a{{"A", ramp({3, 2})}, {"J", keys({2, 0, 2})}};
    CHECK(run("Y[i,k] := A[J[i],k]", a) == "[[4, 5],\n [0, 1],\n [4, 5]]");
    CHECK(run("y[k] := A[J[i],k]*A[J[i],0]", a) == "[32, 40]");
    CHECK(run("Y[i,k] := a[i+J[k]] where i in 0:2", {{"a", ramp({5})}, {"J", keys({3, 0})}}) ==
          "[[3, 0],\n [4, 1]]");
    CHECK(run("y[i] := a[J[K[i]]]",
              {{"a", ramp({4})}, {"J", keys({3, 1})}, {"K", keys({1, 0, 0})}}) == "[1, 3, 3]");
    CHECK(run("C[i,j] := A[J[i],k]*B[k,j]",
              {{"A", ramp({3, 2})}, {"J", keys({2, 0})}, {"B", ramp({2, 2})}}) ==
          "[[10, 19],\n [ 2,  3]]");
    CHECK(run("m[i] := argmax[k](A[J[k],i])", a) == "[0, 0]");
    CHECK(run("h[J[n]] += 1", {{"h", ramp({4})}, {"J", keys({2, 0, 2, 2})}}) == "[1, 1, 5, 3]");
    CHECK(run("h[J[n]] += A[n,k]",
              {{"h", ramp({3})}, {"J", keys({2, 0, 2})}, {"A", a[0].second}}) == "[ 5,  1, 12]");
    CHECK(run("D[J[i]] = x[i]", {{"D", ramp({4})}, {"J", keys({2, 0})}, {"x", ramp({2})}}) ==
          "[1, 1, 0, 3]");
}

TEST_CASE("a kernel reads outside as modifiers say") {
    const EmulatedGpu emulated(deferred(2));
    const Arguments a{{"a", ramp({4})}};
    CHECK(run("y[i] := a[pad(i-1,1,1,7)]", a) == "[7, 0, 1, 2, 3, 7]");
    CHECK(run("y[i] := a[clamp(i-2)] where i in 0:8", a) == "[0, 0, 0, 1, 2, 3, 3, 3]");
    CHECK(run("y[i] := a[wrap(i-2)] where i in 0:8", a) == "[2, 3, 0, 1, 2, 3, 0, 1]");
    CHECK(run("y[i] := a[reflect(i-2)] where i in 0:8", a) == "[2, 1, 0, 1, 2, 3, 2, 1]");
    CHECK(run("y[k] := a[wrap(o[k])] + 10*a[clamp(o[k])] + 100*a[pad(o[k])]",
              {a[0], {"o", keys({-3, 6})}}) == "[ 1, 32]");
    CHECK(run("C[y,x] := A[pad(y+r-1,1),pad(x+s-1,1)]*F[r,s]",
              {{"A", ramp({3, 4})}, {"F", Array::full(DType::f64, {3, 3}, 1)}}) ==
          "[[10, 18, 24, 18],\n [27, 45, 54, 39],\n [26, 42, 48, 34]]");
}

TEST_CASE("gradients of gathers are computed on the GPU") {
    const EmulatedGpu emulated(deferred(3));
    const Arguments a{{"A", ramp({3, 2})}, {"J", keys({2, 0, 2})}, {"dY", ramp({3, 2})}};
    CHECK(run("Y[i,k] := A[J[i],k]^2", a, "A") == "[[ 0,  6],\n [ 0,  0],\n [32, 60]]");
    CHECK(run("Y[i] := a[wrap(i-2)]^2 where i in 0:8", {{"a", ramp({4})}, {"dY", ramp({8})}},
              "a") == "[ 0, 20, 16, 36]");
    CHECK(run("h[J[n]] += x[n]^2",
              {{"h", ramp({3})}, {"J", keys({2, 0})}, {"x", ramp({2})}, {"dh", ramp({3})}},
              "x") == "[0, 0]");
}

TEST_CASE("data is checked before a kernel relies on it") {
    const EmulatedGpu emulated(deferred(4));
    const Arguments a{{"A", ramp({3, 2})}, {"J", keys({2, 0, 3})}};
    CHECK(run("Y[i,k] := A[J[i],k]", a)
              .starts_with("range: `A` is read at 3 in dimension 0, whose extent is 3: J[2] is 3"));
    CHECK(run("y[i] := a[J[K[i]]]", {{"a", ramp({4})}, {"J", keys({3, 4})}, {"K", keys({0, 1})}})
              .starts_with("range: `a` is read at 4 in dimension 0, whose extent is 4: "
                           "J[1] is 4\n"));
    CHECK(run("y[i] := a[J[K[i]]]", {{"a", ramp({4})}, {"J", keys({3, 4})}, {"K", keys({0, 2})}})
              .starts_with("range: `J` is read at 2 in dimension 0, whose extent is 2: "
                           "K[1] is 2\n"));
    CHECK(run("Y[b,d] := sum[t | tok[b,t] >= 0](W[tok[b,t],d])",
              {{"W", ramp({3, 2})}, {"tok", keys({0, 2, -1, -1}).reshape({2, 2})}}) ==
          "[[4, 6],\n [0, 0]]");
    CHECK(run("D[J[i]] = x[i]", {{"D", ramp({4})}, {"J", keys({2, 0, 2})}, {"x", ramp({3})}})
              .starts_with("range: `=` gives an element of `D` two values: where i is 0, and "
                           "where i is 2"));
}

TEST_CASE("nothing is written on a GPU when data is wrong") {
    const EmulatedGpu emulated(deferred(5));
    const Array h = ramp({3});
    const Function count = compile("h[J[n]] += 1", "count", Device::cuda);
    CHECK_THROWS((void)count(h, keys({0, 1, 3})));
    CHECK(str(h) == "[0, 1, 2]");
    const Array x = ramp({2});
    const Function twice =
        compile("h[i] += 1; m[n] := argmax[k](X[n,k]); h[m[n]+$s] += x[n]", "twice", Device::cuda);
    const Array X = Array::from<double>({1, 2, 3, 4, 3, 2}, {2, 3});
    CHECK_THROWS((void)twice(h, X, Array(1), x));
    CHECK(str(h) == "[0, 1, 2]");
    CHECK(str(twice(h, X, Array(0), x)) == "[2, 2, 3]");
    CHECK(str(h) == "[2, 2, 3]");
}

}  // namespace
}  // namespace ricci::tests
