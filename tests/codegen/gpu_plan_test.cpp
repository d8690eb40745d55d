// tests/codegen/gpu_plan_test.cpp – plans of blocks and threads, interpreted, against the reference
#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "grad/gradient.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"
#include "tests/support/nest_interpreter.h"
#include "tests/support/random_program.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

/// The program of a text, bound so that every tensor that it names is an output.
BoundProgram with_all_outputs(const std::string& text, const Signature& signature) {
    const Program program = canonicalise(parse_program(text));
    std::vector<std::string> outputs;
    for (const TensorId id : program.outputs) outputs.push_back(program.at(id).name);
    return ricci::bind(program, signature, outputs);
}

/// On a GPU of many multiprocessors, and on one so small that arrays of a test keep it busy.
void check(const std::string& text, const Signature& signature) {
    const BoundProgram program = with_all_outputs(text, signature);
    INFO(text);
    for (const int multiprocessors : {132, 1})
        CHECK(interpreted_difference(program, signature, example_gpu_target(multiprocessors)) ==
              "");
}

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 255, 1000, 1025};

}  // namespace

TEST_CASE("a GPU passes over vectors of any length") {
    for (const std::int64_t n : sizes)
        for (const DType dtype : {DType::f32, DType::f64}) {
            CAPTURE(n);
            check("y[i] := 2*x[i] + 1", {{"x", array({n}, dtype)}});
            check("y[i] := x[i]*b[i]; z[i] := y[i] + i",
                  {{"x", array({n}, dtype)}, {"b", array({n}, dtype)}});
        }
}

TEST_CASE("a GPU's plans are sound for sizes around every power of two") {
    const auto plans = [](const std::string& text, const Signature& signature) {
        const BoundProgram program = with_all_outputs(text, signature);
        for (const int multiprocessors : {132, 1})
            CHECK_NOTHROW((void)codegen::plan(program, example_gpu_target(multiprocessors)));
    };
    for (std::int64_t power = 4; power <= 1 << 22; power *= 2)
        for (const std::int64_t step : {-1, 0, 1, 2}) {
            const std::int64_t n = power + step;
            CAPTURE(n);
            plans("y[i] := x[i] + 1", {{"x", array({n})}});
            plans("y[i] := x[i] + 1", {{"x", array({n}, DType::f16)}});
            plans("y[i,j] := x[i,j]*b[j]", {{"x", array({3, n})}, {"b", array({n})}});
            plans("y[j,i] := x[i,j]", {{"x", array({3, n})}});
            plans("y[i] := x[i,j]", {{"x", array({5, n})}});
            plans("y[j] := x[i,j]", {{"x", array({5, n})}});
            plans("y := max[i](x[i])", {{"x", array({n})}});
            plans("p[j] := argmax[i](x[i,j])", {{"x", array({n, 2})}});
            plans("y[i,j] := exp(x[i,j]) / sum[k](exp(x[i,k]))", {{"x", array({2, n})}});
            plans("h[wrap(J[i])] += x[i]",
                  {{"h", array({n})}, {"J", array({n}, DType::i32)}, {"x", array({n})}});
            plans("h[wrap(J[i])] max= x[i]",
                  {{"h", array({100})}, {"J", array({n}, DType::i32)}, {"x", array({n})}});
            plans("y[i] := x[i+k]*w[k]", {{"x", array({n + 2})}, {"w", array({3})}});
        }
}

TEST_CASE("a GPU passes over matrices of any shape") {
    for (const std::int64_t n : sizes) {
        CAPTURE(n);
        check("Y[i,j] := X[i,j]*a[i] + b[j]",
              {{"X", array({5, n})}, {"a", array({5})}, {"b", array({n})}});
        check("Y[j,i] := X[i,j]", {{"X", array({3, n})}});
        check("Y[i] := X[i,0] - X[i,1]", {{"X", array({n, 2})}});
    }
}

TEST_CASE("a GPU reduces rows of any length") {
    for (const std::int64_t n : sizes)
        for (const DType dtype : {DType::f32, DType::f64}) {
            CAPTURE(n);
            const Signature signature = {{"A", array({5, n}, dtype)}};
            check("y[i] := A[i,k]", signature);
            check("y[i] := 2*max[k](A[i,k]) + i", signature);
        }
}

TEST_CASE("a GPU reduces columns of any number") {
    for (const std::int64_t n : sizes)
        for (const std::int64_t rows : {1, 7, 100}) {
            CAPTURE(n);
            CAPTURE(rows);
            check("y[j] := A[i,j]", {{"A", array({rows, n})}});
        }
    check("y[j] := A[i,j]", {{"A", array({100, 1000}, DType::f64)}});
}

TEST_CASE("every reducer on a GPU, along rows, columns and both") {
    for (const std::string reducer : {"sum", "prod", "max", "min", "mean", "argmax", "argmin",
                                      "any", "all", "count", "logsumexp", "norm"}) {
        CAPTURE(reducer);
        const std::string term =
            reducer == "any" || reducer == "all" || reducer == "count" ? "A[i,j] > 0" : "A[i,j]";
        const auto text = [&](const std::string& left, const std::string& over) {
            return ricci::format("y{} := {}[{}]({})", left, reducer, over, term);
        };
        const Signature signature = {{"A", array({33, 70})}};
        check(text("[i]", "j"), signature);
        check(text("[j]", "i"), signature);
        if (!reducer.starts_with("arg")) check(text("", "i,j"), signature);
    }
}

TEST_CASE("long reductions of few results go in two levels on a GPU") {
    const auto steps = [](const std::string& text, const Signature& signature) {
        check(text, signature);
        return codegen::plan(bound(text, signature), example_gpu_target()).steps.size();
    };
    CHECK(steps("s := A[i,j]", {{"A", array({1000, 300})}}) == 2);
    CHECK(steps("s := A[i]*B[i]", {{"A", array({300007})}, {"B", array({300007})}}) == 2);
    CHECK(steps("y[j] := A[i,j]", {{"A", array({30011, 20})}}) == 2);
    CHECK(steps("p := argmax[i](A[i])", {{"A", array({200000})}}) == 2);
    CHECK(steps("p[j] := argmin[i](A[i,j])", {{"A", array({30000, 12})}}) == 2);
    CHECK(steps("s := sum[i,j | j <= i](A[i,j])", {{"A", array({700, 700})}}) == 2);
    CHECK(steps("s := A[i]", {{"A", array({1000})}}) == 1);
}

TEST_CASE("kernels that pass over the same rows are one kernel on a GPU") {
    const auto steps = [](const std::string& text, const Signature& signature) {
        check(text, signature);
        return codegen::plan(bound(text, signature), example_gpu_target()).steps.size();
    };
    const std::string softmax =
        "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))";
    for (const std::int64_t n : {2, 31, 32, 33, 255, 1000, 5000}) {
        CAPTURE(n);
        CHECK(steps(softmax, {{"X", array({9, n})}}) == 1);
        CHECK(steps(softmax, {{"X", array({3, n}, DType::f64)}}) == 1);
    }
    CHECK(steps("m[i] := mean[k](X[i,k]); v[i] := mean[k]((X[i,k]-m[i])^2);"
                "Y[i,j] := (X[i,j]-m[i])*rsqrt(v[i]+0.001)*g[j]+b[j]",
                {{"X", array({37, 260})}, {"g", array({260})}, {"b", array({260})}}) == 1);
    CHECK(steps("dX[i,j] := S[i,j]*(dS[i,j] - sum[k](dS[i,k]*S[i,k]))",
                {{"S", array({5, 300})}, {"dS", array({5, 300})}}) == 1);
    CHECK(steps("L[a,i] := logsumexp[k](X[a,i,k])", {{"X", array({3, 7, 100})}}) == 1);
    CHECK(steps("m[n] := mean[c,h](X[n,c,h]); Y[n,c,h] := X[n,c,h] - m[n]",
                {{"X", array({6, 5, 8})}}) == 1);
}

TEST_CASE("reductions of the same rows read them once on a GPU") {
    const auto steps = [](const std::string& text, const Signature& signature) {
        check(text, signature);
        return codegen::plan(with_all_outputs(text, signature), example_gpu_target()).steps.size();
    };
    CHECK(steps("y[i] := A[i,k]; z[i] := max[k](A[i,k]); p[i] := argmin[k](A[i,k])",
                {{"A", array({40, 100})}}) == 1);
    CHECK(steps("L[n] := logsumexp[c](Z[n,c]) - sum[c](c == label[n] ? Z[n,c] : 0)",
                {{"Z", array({128, 10})}, {"label", array({128})}}) == 1);
    CHECK(steps("y[i] := A[i,k]; z[k] := A[i,k]", {{"A", array({40, 40})}}) == 2);
    CHECK(steps("C[i,j] := A[i,k]*B[j,k]; D[i,j] := (A[i,k] - B[j,k])^2",
                {{"A", array({20, 40})}, {"B", array({20, 40})}}) == 2);
}

TEST_CASE("rows are no chain on a GPU where a kernel needs what another thread wrote") {
    const auto steps = [](const std::string& text, const Signature& signature) {
        check(text, signature);
        return codegen::plan(bound(text, signature), example_gpu_target()).steps.size();
    };
    const Signature signature = {{"X", array({20, 20})}};
    // The result of another row.
    CHECK(steps("m[i] := max[k](X[i,k]); Y[i,j] := X[i,j] - m[19-i]", signature) == 2);
    CHECK(steps("m[i] := max[k](X[i,k]); Y[i,j] := X[i,j] - m[j]", signature) == 2);
    // What a chain stores is read by a kernel after it.
    CHECK(steps("m[i] := max[k](X[i,k]); Y[i,j] := X[i,j] - m[i]; z[i] := m[19-i]*X[i,0]",
                signature) == 2);
}

TEST_CASE("conditions become loop bounds on a GPU") {
    const Signature line = {{"dO", array({100})}, {"F", array({7})}};
    check("dA[t] := sum[k | t-k >= 0 && t-k < size(dO,0)](dO[t-k]*F[k]) where t in 0:106", line);
    check("dA[t] := sum[k | t-2*k >= 0 && t-2*k < size(dO,0)](dO[t-2*k]*F[k]) where t in 0:112",
          line);
    check("S[i] := sum[k | k <= i](A[i,k])", {{"A", array({70, 70})}});
    check("S[k] := sum[i | k <= i](A[i,k])", {{"A", array({70, 70})}});
    check("S[i] := sum[k | A[i,k] > 0](A[i,k])", {{"A", array({70, 72})}});
    check("S[k] := argmax[i | A[i,k] < 0](A[i,k])", {{"A", array({70, 72})}});
    check("S[i,j] := sum[k | k <= i && k != 3](A[i,k]*B[k,j])",
          {{"A", array({30, 30})}, {"B", array({30, 20})}});
    check(
        "P[y,x] := sum[r,s | y-r >= 0 && y-r < 20 && x-s >= 0 && x-s < 40](Q[y-r,x-s]*G[r,s])"
        " where y in 0:22, x in 0:42",
        {{"Q", array({20, 40})}, {"G", array({3, 3})}});
}

TEST_CASE("reductions over several axes on a GPU") {
    check("y[c] := X[n,c,h,w]", {{"X", array({4, 6, 5, 8})}});
    check("y[c] := X[n,c,h]*X[n,c,h]", {{"X", array({10, 3, 7})}});
    check("y[n,h] := X[n,c,h,w]", {{"X", array({3, 6, 5, 8})}});
    check("y[w] := X[n,c,h,w]", {{"X", array({3, 6, 5, 8})}});
    check("O[n,x,y] := X[n,x+r,y+s]*F[r,s]", {{"X", array({2, 20, 33})}, {"F", array({3, 4})}});
}

TEST_CASE("updates and several results on a GPU") {
    check("x[i] = 2*x[i]; y[i] := x[i] + 1", {{"x", array({200})}});
    const Signature signature = {{"x", array({20})}, {"A", array({30, 20})}};
    check("A[i+3,j] += x[j]*A[i+3,j] where i in 0:20", signature);
    check("O[i+k] += x[i]*w[k]", {{"O", array({26})}, {"x", array({20})}, {"w", array({7})}});
    check("O[j,i+k] += x[i]*w[k]", {{"O", array({50, 26})}, {"x", array({20})}, {"w", array({7})}});
    check("O[i//2] += A[i,k] where i in 0:30", {{"O", array({15})}, {"A", array({30, 50})}});
    check("x[i] *= A[k,i]; x[i] max= A[0,i]", signature);
    check("x[i] = sum[k](A[k,i]*x[i])", signature);
    check("y[k] = sum[i](A[k,i]*y[k])", {{"y", array({30})}, {"A", array({30, 20})}});
    check("m[i] = 0.9*m[i] + 0.1*g[i]; p[i] -= 0.001*m[i]",
          {{"m", array({1000})}, {"g", array({1000})}, {"p", array({1000})}});
    check("D[i,i] := a[i]", {{"a", array({20})}});
}

TEST_CASE("places that are quotients and remainders on a GPU") {
    check("y[i] := A[i//3, i%3] where i in 0:30", {{"A", array({10, 40})}});
    const Signature signature = {{"A", array({10, 40})}, {"p", array({12})}};
    check("y[i] := p[i//2]*A[i%10, k] where i in 0:24", signature);
    check("y[k] := p[i//2]*A[i%10, k] where i in 0:24", signature);
    check("O[i%5] += p[i]", {{"p", array({12})}, {"O", array({5})}});
}

TEST_CASE("several types in one kernel on a GPU") {
    check("y[i] := A[i,k]*B[i,k]",
          {{"A", array({12, 40}, DType::f32)}, {"B", array({12, 40}, DType::f64)}});
    check("y[i] := A[i] + B[i]", {{"A", array({1000}, DType::u8)}, {"B", array({1000})}});
    check("c[i] := count[k | A[i,k] > 0](1)", {{"A", array({12, 40})}});
    check("b[i] := A[i] > 0", {{"A", array({1000})}});
    check("s := 2*a", {{"a", array({})}});
}

namespace {

/// The array with its elements at those strides, in memory that `memory` keeps.
Array laid_out(const Array& array, const Strides& strides,
               std::vector<std::vector<float>>& memory) {
    std::int64_t last = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) last += (array.shape()[d] - 1) * strides[d];
    memory.emplace_back(std::size_t(last + 1), 0.F);
    Array view = Array::view(memory.back().data(), array.shape(), strides);
    for (std::int64_t i = 0; i < array.shape()[0]; ++i)
        for (std::int64_t j = 0; j < array.shape()[1]; ++j)
            memory.back()[std::size_t(i * strides[0] + j * strides[1])] =
                array.span<float>()[std::size_t(i * array.shape()[1] + j)];
    return view;
}

/// Where the results for an argument `A` with those strides differ from the reference's.
std::string difference_of_view(const std::string& text, const Strides& strides) {
    Signature signature = {{"A", array({40, 36})}};
    signature["A"].strides = strides;
    const BoundProgram program = bound(text, signature);
    const std::vector<Array> arguments = random_arguments(program, signature, 3);
    const auto expected = runtime::evaluate_with_bounds(program, arguments);
    std::vector<std::vector<float>> memory;
    const std::vector<Array> views = {laid_out(arguments.at(0), strides, memory)};
    const codegen::Plan plan = codegen::plan(program, example_gpu_target(1));
    for (const std::uint64_t order : {0, 1, 2}) {
        const std::vector<Array> found = interpret(program, plan, views, order);
        for (std::size_t i = 0; i < found.size(); ++i)
            if (const Comparison comparison = compare(found[i], expected[i]); !comparison.holds())
                return comparison.failure + "\n" + str(plan);
    }
    return {};
}

}  // namespace

TEST_CASE("views with strides on a GPU") {
    for (const Strides& strides :
         {Strides{100, 2}, Strides{1, 40}, Strides{1, 43}, Strides{37, 1}}) {
        CAPTURE(strides[0]);
        for (const std::string text :
             {"y[i] := A[i,k]", "z[k] := A[i,k]", "B[i,k] := 2*A[i,k]", "B[k,i] := 2*A[i,k]",
              "m[i] := max[k](A[i,k]); B[i,k] := A[i,k] - m[i]"}) {
            INFO(text);
            CHECK(difference_of_view(text, strides) == "");
        }
    }
}

namespace {

void check_random_programs(const RandomForms& forms) {
    int checked = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const RandomProgram random = random_program(seed, forms);
        BoundProgram program;
        try {
            program = with_all_outputs(random.text, random.signature);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::internal) throw;
            continue;
        }
        INFO(str(random));
        CHECK(interpreted_difference(program, random.signature,
                                     example_gpu_target(seed % 2 == 0 ? 132 : 1), seed) == "");
        ++checked;
    }
    CHECK(checked > 70);
}

}  // namespace

TEST_CASE("plans of random programs for a GPU compute what the reference computes") {
    check_random_programs({});
}

TEST_CASE("plans for a GPU read and write at places that are data or modified") {
    check_random_programs({.subscripts = true});
}

namespace {

/// The shapes and types of the arguments that a gradient program takes.
Signature gradient_signature(const Program& adjoint, const Signature& forward,
                             const BoundTensor& result) {
    Signature signature;
    for (const TensorId id : adjoint.arguments) {
        const std::string& name = adjoint.at(id).name;
        const auto known = forward.find(name);
        signature[name] =
            known != forward.end() ? known->second : array(result.shape, result.dtype);
    }
    return signature;
}

void check_random_gradients(const RandomForms& forms) {
    int checked = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const RandomProgram random = random_program(seed, forms);
        INFO(str(random));
        try {
            const Program program = canonicalise(parse_program(random.text));
            const BoundProgram forward = ricci::bind(program, random.signature);
            const BoundTensor& result = forward.at(forward.outputs.back());
            if (!is_floating(result.dtype)) continue;
            for (const auto& [name, spec] : random.signature) {
                if (!is_floating(spec.dtype)) continue;
                INFO(name);
                const Program adjoint = grad::gradient(program, name);
                const Signature signature = gradient_signature(adjoint, random.signature, result);
                CHECK(interpreted_difference(ricci::bind(adjoint, signature), signature,
                                             example_gpu_target(seed % 2 == 0 ? 132 : 1),
                                             seed) == "");
                ++checked;
            }
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::internal) throw;
        }
    }
    CHECK(checked > 100);
}

}  // namespace

TEST_CASE("plans of gradients of random programs for a GPU agree with the reference") {
    check_random_gradients({});
}

TEST_CASE("plans of gradients for a GPU through data and modified subscripts agree too") {
    check_random_gradients({.subscripts = true});
}
