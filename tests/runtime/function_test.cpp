// tests/runtime/function_test.cpp – calls: values, names, updates, errors, threads
#include "runtime/function.h"

#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "dsl/builder.h"
#include "runtime/executor.h"
#include "runtime/parallel.h"
#include "tests/support/error_text.h"
#include "tests/support/set_variable.h"

namespace ricci {
namespace {

using tests::error_text;

Array vector_of(std::initializer_list<float> values) {
    return Array::from<float>(values, {static_cast<std::int64_t>(values.size())});
}

TEST_CASE("a function is called in order of first appearance or by name") {
    const Function linear = compile("Y[n,o] := W[o,k]*X[n,k] + b[o]");
    const Array W = Array::from<float>({1, 2, 3, 4}, {2, 2});
    const Array X = Array::from<float>({1, 1}, {1, 2});
    const Array b = vector_of({10, 20});
    CHECK(str(linear(W, X, b)) == "[[13, 27]]");
    CHECK(str(linear({{"b", b}, {"X", X}, {"W", W}})) == "[[13, 27]]");
    CHECK(linear.name() == "Y");
    CHECK(str(linear) == "Y[n,o] := W[o,k]*X[n,k] + b[o]");
}

TEST_CASE("a program of C++ operators is compiled like its text") {
    const builder::Index i("i"), j("j"), k("k");
    const builder::Tensor A("A"), B("B"), C("C");
    const Function product = compile(C(i, j) = sum(k, A(i, k) * B(k, j)));
    CHECK(str(product) == "C[i,j] := A[i,k]*B[k,j]");
    CHECK(str(product.grad("B")) == "dB[k,j] := dC[i,j]*A[i,k]");
    const Array a = Array::from<float>({1, 2, 3, 4}, {2, 2});
    CHECK(str(product(a, a)) ==
          "[[ 7, 10],\n"
          " [15, 22]]");
}

TEST_CASE("both devices give the same") {
    for (const Device device : {Device::cpu, Device::reference}) {
        CAPTURE(name(device));
        const Function f = compile("s := sum[i](x[i]^2)", "squares", device);
        CHECK(f(vector_of({1, 2, 3})).item() == 14);
    }
}

TEST_CASE("one function serves any sizes, types and strides") {
    const Function twice = compile("y[i] := 2*x[i]");
    CHECK(str(twice(vector_of({1, 2}))) == "[2, 4]");
    CHECK(str(twice(vector_of({1, 2, 3}))) == "[2, 4, 6]");
    CHECK(twice(Array::from<double>({0.1}, {1})).dtype() == DType::f64);
    CHECK(str(twice(Array::zeros(DType::f32, {0}))) == "[]");
    const Array column = Array::arange(DType::f32, {6}).reshape({3, 2}).slice(1, 1, 2);
    const Function flat = compile("y[i] := 2*x[i,0]");
    CHECK(str(flat(column)) == "[ 2,  6, 10]");
    const Function rows = compile("y[i,j] := 2*x[i,j]");
    CHECK(str(rows(Array::arange(DType::f32, {3, 2}).transpose({1, 0}))) ==
          "[[ 0,  4,  8],\n"
          " [ 2,  6, 10]]");
}

TEST_CASE("views of memory that is aligned to elements only are fine") {
    std::vector<float> memory(1001);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
    const Function sum = compile("s := sum[i](x[i]); y[i] := x[i] + 1");
    const Array x = Array::view(memory.data() + 1, {1000});
    const std::vector<Array> results = sum.call({{"x", x}}, {"s", "y"});
    CHECK(results[0].item() == 500500);
    CHECK(results[1].at({999}) == 1001);
}

TEST_CASE("views that walk backwards through memory are read where they stand") {
    const std::int64_t height = 17;
    const std::int64_t width = 33;
    std::vector<float> memory(std::size_t(height * width));
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i % 7) - 3;
    const Array flipped =
        Array::view(memory.data() + (height - 1) * width, {height, width}, {-width, 1});
    const Array mirrored = Array::view(memory.data() + width - 1, {height, width}, {width, -1});
    const Array k = Array::randint(DType::f32, {16, 3, 3}, -2, 3);
    for (const char* text : {"Y[o,y,x] := sum[r,s](K[o,r,s]*X[2*y+r,2*x+s])",
                             "Y[o,y,x] := sum[r,s](K[o,r,s]*X[y+r,3*x+s])",
                             "Y[o,y,x] := sum[r,s](K[o,r,s]*X[y+r,x+s])"})
        for (const Array& x : {flipped, mirrored}) {
            CAPTURE(text);
            CHECK(str(compile(text)(k, x)) == str(compile(text)(k, x.copy())));
        }
}

TEST_CASE(
    "views of any strides are updated before a check of data, and are as they were if it fails") {
    const Function f = compile("X[q] += 1; m[q] := mean[k | S[q,k]*X[q] > 0](S[q,k])");
    const Array S = Array::full(DType::f64, {10, 2}, 1);
    for (const std::int64_t stride : {1, 3, -1, -2}) {
        CAPTURE(stride);
        std::vector<double> memory(28, 1);
        double* const first = memory.data() + (stride < 0 ? 27 : 0);
        const Array X = Array::view(first, {10}, {stride});
        CHECK(f.call({{"X", X}, {"S", S}}, {"m"})[0].at({9}) == 1);
        CHECK(first[9 * stride] == 2);
        first[7 * stride] = -5;
        const std::string text = error_text([&] { (void)f.call({{"X", X}, {"S", S}}, {"m"}); });
        CHECK(text.find("for `q` = 7") != std::string::npos);
        CHECK(first[6 * stride] == 2);
        CHECK(first[7 * stride] == -5);
    }
}

TEST_CASE("one element at a place that is data is looked at before it is read") {
    const Array A = Array::arange(DType::f32, {10});
    // So far outside that no memory is there.
    const Array J = Array::full(DType::i64, {3}, 100'000'000'000);
    for (const char* text :
         {"Z := A[J[0]]", "Z := (J[0] > 0 ? A[J[0]] : 0)", "m := J[0]; m += 1; Z := A[$m]",
          "Z[_] := A[J[0]]", "Z := sum[i](A[J[i]])"}) {
        CAPTURE(text);
        CHECK(error_text([&] {
                  (void)compile(text).call({{"A", A}, {"J", J}}, {"Z"});
              }).starts_with("range: `A` is read at 10000000000"));
    }
    CHECK(compile("Z := A[J[0]]")
              .call({{"A", A}, {"J", Array::full(DType::i64, {3}, 7)}}, {"Z"})[0]
              .item() == 7);
}

TEST_CASE("numbers are weak: they adopt the type of the array") {
    const Function scale = compile("y[i] := a*x[i]");
    const Array y = scale(2.5, vector_of({1, 2}));
    CHECK(y.dtype() == DType::f32);
    CHECK(str(y) == "[2.5,   5]");
    CHECK(str(scale(3, vector_of({1, 2}))) == "[3, 6]");
}

TEST_CASE("a scalar in a subscript is bound by its value") {
    const Function column = compile("y[i] := A[i,$c]");
    const Array A = Array::arange(DType::f32, {2, 3});
    CHECK(str(column(A, 0)) == "[0, 3]");
    CHECK(str(column(A, 2)) == "[2, 5]");
    CHECK(error_text([&] { (void)column(A, 3); }).starts_with("range: "));
}

TEST_CASE("outputs are given in the order asked for") {
    const Function f = compile("a[i] := x[i] + 1; b[i] := a[i] * 2");
    const std::vector<Array> results = f.call({{"x", vector_of({1})}}, {"b", "a"});
    CHECK(results.size() == 2);
    CHECK(results[0].item() == 4);
    CHECK(results[1].item() == 2);
    const std::vector<Array> twice = f.call({{"x", vector_of({1})}}, {"b", "b"});
    CHECK(twice.size() == 2);
    CHECK(twice[1].item() == 4);
    CHECK(error_text([&] { (void)f.call({{"x", vector_of({1})}}, {"c"}); }) ==
          "name: there is no output `c`\n"
          "  = hint: `b` gives `a`, `b`");
}

TEST_CASE("an updated argument is changed in place and is the result") {
    const Function add = compile("y[i] += 2*x[i]");
    const Array y = vector_of({1, 1});
    const Array result = add(y, vector_of({1, 2}));
    CHECK(str(y) == "[3, 5]");
    CHECK(result.data() == y.data());
}

TEST_CASE("an argument is updated also when another result is asked for") {
    const Function f = compile("y[i] += x[i]; s := sum[i](y[i])");
    const Array y = vector_of({1, 2});
    CHECK(f(y, vector_of({10, 10})).item() == 23);
    CHECK(str(y) == "[11, 12]");
}

TEST_CASE("an update of a new array comes after its definition, wherever its value comes from") {
    const Function f = compile("s := x[i]; u[i] := 3*x[i]; u[0] += 2*s");
    CHECK(str(f(vector_of({1, 1, 1}))) == "[9, 3, 3]");
    const Function g = compile("t[i] := 2*w[i]; t[0] += x[i]; y[i] := t[i]*w[i]");
    const Array w = vector_of({1, 2});
    const Array x = vector_of({10, 20, 30});
    const Array dy = vector_of({1, 1});
    CHECK(str(g(w, x)) == "[62,  8]");
    CHECK(str(g.grad("w")({{"w", w}, {"x", x}, {"dy", dy}})) == "[64,  8]");
    CHECK(str(g.grad("x")({{"w", w}, {"x", x}, {"dy", dy}})) == "[1, 1, 1]");
}

TEST_CASE("an updated view changes only its own elements") {
    const Array whole = Array::zeros(DType::f32, {3, 4});
    const Function set = compile("a[i,j] = 1 + i + j");
    (void)set(whole.slice(1, 1, 3));
    CHECK(str(whole) ==
          "[[0, 1, 2, 0],\n"
          " [0, 2, 3, 0],\n"
          " [0, 3, 4, 0]]");
}

TEST_CASE("an updated argument that overlaps another is an error and nothing is written") {
    const Function shift = compile("y[i] += x[i]");
    const Array whole = vector_of({1, 2, 3, 4});
    const Array low = whole.slice(0, 0, 3);
    const Array high = whole.slice(0, 1, 4);
    CHECK(error_text([&] { (void)shift(low, high); }) ==
          "range: argument `y` is updated and shares memory with argument `x`\n"
          "  = hint: give a copy of `x`");
    CHECK(str(whole) == "[1, 2, 3, 4]");
}

TEST_CASE("the same array may be read where it is written") {
    const Function add = compile("y[i] += x[i]");
    const Array a = vector_of({1, 2, 3});
    (void)add(a, a);
    CHECK(str(a) == "[2, 4, 6]");
    const Function mix = compile("y[i] += x[j]*M[i,j]");
    CHECK(error_text([&] {
              (void)mix(a, a, Array::zeros(DType::f32, {3, 3}));
          }).starts_with("range: argument `y` is updated and shares memory with argument `x`"));
}

TEST_CASE("wrong arguments are named") {
    const Function linear = compile("Y[n,o] := W[o,k]*X[n,k] + bias[o]", "linear");
    const Array A = Array::zeros(DType::f32, {2, 2});
    const Array b = vector_of({1, 2});
    CHECK(error_text([&] { (void)linear(A, A); }) ==
          "name: 2 arguments given, 3 needed\n"
          "  = hint: `linear` takes `W`, `X`, `bias`");
    CHECK(error_text([&] { (void)linear({{"W", A}, {"X", A}, {"W", A}}); }) ==
          "name: the argument `W` is given twice");
    CHECK(error_text([&] {
              (void)linear({{"W", A}, {"X", A}, {"bia", b}});
          }).starts_with("name: the program has no argument `bia`"));
    CHECK(error_text([&] {
              (void)linear({{"W", A}, {"X", A}});
          }).starts_with("name: the argument `bias` is missing"));
    CHECK(error_text([&] {
              (void)linear({{"W", A}, {"X", A}, {"bias", b}, {"k", 2}});
          }).starts_with("name: `k` is an index"));
    CHECK(error_text([&] { (void)linear(A, A, Array()); }) ==
          "name: argument `bias` is an empty handle");
    CHECK(error_text([&] { (void)linear(A, A, 2.0); }).starts_with("shape: `bias` "));
}

TEST_CASE("a number cannot be updated") {
    const Function f = compile("s[] += x[i]");
    CHECK(error_text([&] { (void)f(1.0, vector_of({1})); }) ==
          "type: argument `s` is updated, a plain number is given\n"
          "  = hint: give an array of rank 0, as in Array::full(DType::f64, {}, 0)");
}

TEST_CASE("a gradient is a function that accepts the forward's arguments too") {
    const Function linear = compile("Y[n,o] := W[o,k]*X[n,k] + b[o]", "linear");
    const Function dW = linear.grad("W");
    CHECK(str(dW) == "dW[o,k] := dY[n,o]*X[n,k]");
    CHECK(dW.name() == "linear[0]");
    const Array W = Array::zeros(DType::f32, {2, 2});
    const Array X = Array::from<float>({1, 2}, {1, 2});
    const Array dY = Array::from<float>({1, 10}, {1, 2});
    CHECK(str(dW({{"W", W}, {"X", X}, {"b", vector_of({0, 0})}, {"dY", dY}})) ==
          "[[ 1,  2],\n"
          " [10, 20]]");
    CHECK(error_text([&] { (void)linear.grad("V"); }) ==
          "name: `linear` has no argument `V`\n"
          "  = hint: `linear` takes `W`, `X`, `b`");
}

TEST_CASE("results are the same bits for any number of threads") {
    const std::vector<std::pair<std::string, Arguments>> cases = {
        {"Y[n,o] := W[o,k]*X[n,k] + b[o]",
         {{"W", Array::randn(DType::f32, {150, 700}, 1)},
          {"X", Array::randn(DType::f32, {333, 700}, 2)},
          {"b", Array::randn(DType::f32, {150}, 3)}}},
        {"s := sum[i,j](x[i,j])", {{"x", Array::randn(DType::f32, {1000, 777}, 4)}}},
        {"c[j] := exp(x[i,j])", {{"x", Array::randn(DType::f64, {5000, 70}, 5)}}}};
    const int before = num_threads();
    for (const auto& [text, arguments] : cases) {
        CAPTURE(text);
        const Function f = compile(text);
        set_num_threads(1);
        const Array one = f(arguments);
        set_num_threads(4);
        const Array four = f(arguments);
        const auto bytes = static_cast<std::size_t>(one.size()) * size_bytes(one.dtype());
        CHECK(std::memcmp(one.data(), four.data(), bytes) == 0);
    }
    set_num_threads(before);
}

TEST_CASE("a function follows the precision that is allowed when it is called") {
    const Function f = compile("C[i,j] := A[i,k]*B[k,j]");
    const Arguments arguments = {{"A", Array::randn(DType::f32, {256, 256}, 1)},
                                 {"B", Array::randn(DType::f32, {256, 256}, 2)}};
    const auto differ = [](const Array& a, const Array& b) {
        return std::memcmp(a.data(), b.data(), std::size_t(a.size()) * sizeof(float)) != 0;
    };
    CHECK(precision() == Precision::f32);
    const Array f32 = f(arguments);
    set_precision(Precision::bf16x3);
    CHECK(precision() == Precision::bf16x3);
    const Array bf16x3 = f(arguments);
    set_precision(Precision::bf16x6);
    const Array bf16x6 = f(arguments);
    set_precision(Precision::f32);
    CHECK_FALSE(differ(f32, f(arguments)));
    // Processors without tiles keep f32.
    const bool has_tiles = runtime::target().has_bf16_tiles;
    CHECK(differ(f32, bf16x3) == has_tiles);
    CHECK(differ(bf16x6, bf16x3) == has_tiles);
}

TEST_CASE("equal values share as the options of a gradient say") {
    const Function f = compile("m[i] := max[k](A[i,k]*b[k])");
    const Arguments arguments = {{"A", Array::from<float>({1, 2, 2, 3, 1, 3, 3, 0}, {2, 4})},
                                 {"b", Array::full(DType::f32, {4}, 1)},
                                 {"dm", Array::full(DType::f32, {2}, 1)}};
    CHECK(str(f.grad("A")(arguments)) == "[[0, 0, 0, 1],\n [0, 1, 0, 0]]");
    CHECK(str(f.grad("A", {.ties = Ties::even})(arguments)) ==
          "[[  0,   0,   0,   1],\n [  0, 0.5, 0.5,   0]]");
    CHECK(str(f.grad("A", {.cotangents = {"m"}, .ties = Ties::zero})(arguments)) ==
          "[[0, 0, 0, 1],\n [0, 0, 0, 0]]");
}

TEST_CASE("integers have no gradient") {
    const Function f = compile("y[i] := x[i]");
    const Array x = Array::arange(DType::i64, {3});
    CHECK(error_text([&] { (void)f.grad("x")({{"x", x}, {"dy", x}}); }) ==
          "gradient: the argument `x` has type i64, which has no gradient\n"
          "  | y[i] := x[i]\n"
          "  |         ^\n"
          "  = hint: convert it to f32 or f64");
}

TEST_CASE("an empty function and a device that is not there are errors") {
    CHECK(error_text([] { (void)Function()(1); }) ==
          "name: an empty function is used\n"
          "  = hint: make it with compile(\"...\")");
    const tests::SetVariable nowhere("RICCI_CUDA_PATH", "/no/such/directory");
    CHECK(error_text([] { (void)compile("y := x", "", Device::cuda); }) ==
          "device: the CUDA driver (libcuda.so.1) is not in RICCI_CUDA_PATH=/no/such/directory\n"
          "  = hint: a `:` at the end of RICCI_CUDA_PATH adds the usual places");
}

TEST_CASE("a function may be called and differentiated from many threads") {
    const Function f = compile("y[i] := x[i]*x[i]");
    std::vector<std::thread> threads;
    std::vector<int> wrong(8, 0);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&f, &wrong, t] {
            for (std::int64_t n = 1; n < 20; ++n) {
                const Array x = Array::full(DType::f64, {n + static_cast<std::int64_t>(t)}, 3);
                if (f(x).at({n - 1}) != 9) ++wrong[t];
                if (f.grad("x")({{"x", x}, {"dy", x}}).at({0}) != 18) ++wrong[t];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(8, 0));
}

}  // namespace
}  // namespace ricci
