// tests/codegen/plan_test.cpp – plans executed by the interpreter against the reference
#include "codegen/plan.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "dsl/canonical.h"
#include "runtime/reference.h"
#include "tests/support/compare.h"
#include "tests/support/nest_interpreter.h"
#include "tests/support/random_program.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

Target target(int vector_bytes) {
    return {.cpu = "test",
            .features = "",
            .vector_bytes = vector_bytes,
            .vector_registers = vector_bytes == 64 ? 32 : 16,
            .has_fma = true};
}

/// The first element at which the plan's result leaves the reference's bound, or nothing.
std::string difference(const BoundProgram& program, const Signature& signature,
                       const Target& target) {
    const codegen::Plan plan = codegen::plan(program, target);
    const std::vector<Array> arguments = random_arguments(program, signature, 7);
    const auto expected = runtime::evaluate_with_bounds(program, arguments);
    std::vector<Array> copies;
    for (const Array& argument : arguments)
        copies.push_back(argument.is_weak() ? argument : argument.copy());
    const std::vector<Array> found = interpret(program, plan, copies);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Comparison comparison = compare(found[i], expected[i]);
        if (!comparison.holds()) return comparison.failure + "\n" + str(plan);
    }
    return {};
}

ArgumentSpec array(Shape shape, DType dtype = DType::f32) {
    return {.dtype = dtype, .shape = std::move(shape), .strides = {}, .value = {}};
}

void check(const std::string& text, const Signature& signature) {
    const BoundProgram bound = ricci::bind(canonicalise(parse_program(text)), signature);
    INFO(text);
    for (const int vector_bytes : {64, 32, 16})
        CHECK(difference(bound, signature, target(vector_bytes)) == "");
}

}  // namespace

TEST_CASE("a product of matrices is tiled, with edges in every direction") {
    check("C[i,j] := A[i,k]*B[k,j]", {{"A", array({37, 21})}, {"B", array({21, 45})}});
    check("C[i,j] := A[i,k]*B[j,k]", {{"A", array({28, 16})}, {"B", array({64, 16})}});
    check("C[i,j] := A[k,i]*B[k,j]",
          {{"A", array({17, 5}, DType::f64)}, {"B", array({17, 70}, DType::f64)}});
}

TEST_CASE("bias and activation are applied to the tile") {
    const Signature signature = {
        {"W", array({50, 30})}, {"X", array({20, 30})}, {"b", array({50})}};
    check("Y[n,o] := W[o,k]*X[n,k] + b[o]", signature);
    check("Z[n,o] := W[o,k]*X[n,k] + b[o]; Y[n,o] := relu(Z[n,o])", signature);
}

TEST_CASE("any body of two operands is a contraction") {
    const Signature signature = {{"w", array({30, 40})}, {"x", array({30, 35})}};
    check("D[i,j] := (w[k,i] - x[k,j])^2", signature);
    check("D[i,j] := max[k](w[k,i] + x[k,j])", signature);
    check("D[i,j] := sum[k](exp(w[k,i])*abs(x[k,j] - w[k,i]))", signature);
    check("D[k,i] := 2*(w[k,i] - x[k,j])*d[i,j]",
          {{"w", array({30, 40})}, {"x", array({30, 35})}, {"d", array({40, 35})}});
    check("D[i,j] := sum[k](a[i]*w[k,i]*2*x[k,j]*b[j]*c[i,j])", {{"w", array({30, 40})},
                                                                 {"x", array({30, 35})},
                                                                 {"a", array({40})},
                                                                 {"b", array({35})},
                                                                 {"c", array({40, 35})}});
}

TEST_CASE("batches, several rows and several reduced axes") {
    check("C[b,i,j] := A[b,i,k]*B[b,k,j]", {{"A", array({3, 20, 9})}, {"B", array({3, 9, 33})}});
    check("C[i,j,a] := A[i,k,l]*B[l,a,k,j]",
          {{"A", array({13, 5, 6})}, {"B", array({6, 18, 5, 7})}});
    check("C[a,b,c,d] := A[a,e,b]*B[d,c,e]", {{"A", array({6, 7, 5})}, {"B", array({18, 4, 7})}});
    check("C[i,j] := A[i,k]*v[k]*B[k,j]",
          {{"A", array({20, 10})}, {"v", array({10})}, {"B", array({10, 33})}});
}

TEST_CASE("transposing passes go by squares") {
    check("B[i,j] := A[j,i]", {{"A", array({40, 37})}});
    check("B[i,j] := A[j,i]*c[i] + A[j,i]", {{"A", array({64, 32})}, {"c", array({32})}});
    check("B[i,j,k] := A[k,j,i]", {{"A", array({20, 3, 33})}});
}

TEST_CASE("conditions become loop bounds, with a core in lanes and borders") {
    const Signature line = {{"dO", array({100})}, {"F", array({7})}};
    check("dA[t] := sum[k | t-k >= 0 && t-k < size(dO,0)](dO[t-k]*F[k]) where t in 0:106", line);
    check("dA[t] := sum[k | t-2*k >= 0 && t-2*k < size(dO,0)](dO[t-2*k]*F[k]) where t in 0:112",
          line);
    check("S[i] := sum[k | k <= i](A[i,k])", {{"A", array({40, 40})}});
    check("S[i,j] := sum[k | k <= i && k != 3](A[i,k]*B[k,j])",
          {{"A", array({30, 30})}, {"B", array({30, 20})}});
    check(
        "P[y,x] := sum[r,s | y-r >= 0 && y-r < 20 && x-s >= 0 && x-s < 40](Q[y-r,x-s]*G[r,s])"
        " where y in 0:22, x in 0:42",
        {{"Q", array({20, 40})}, {"G", array({3, 3})}});
}

TEST_CASE("a long sum with few results is split in two levels") {
    check("C[i,j] := A[k,i]*B[k,j]", {{"A", array({9000, 3})}, {"B", array({9000, 33})}});
    check("s := A[i,j]", {{"A", array({1100, 1001})}});
    check("s[j] := A[i,j]", {{"A", array({30011, 20})}});
}

TEST_CASE("plans of random programs compute what the reference computes") {
    int checked = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const RandomProgram program = random_program(seed);
        BoundProgram bound;
        try {
            bound = ricci::bind(canonicalise(parse_program(program.text)), program.signature);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::internal) throw;
            continue;
        }
        INFO(str(program));
        CHECK(difference(bound, program.signature, target(seed % 2 == 0 ? 64 : 16)) == "");
        ++checked;
    }
    CHECK(checked > 100);
}
