// tests/codegen_cuda/golden_test.cpp – the text of kernels as users see it
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include "codegen/cuda/emit.h"
#include "codegen/plan.h"
#include "dsl/canonical.h"
#include "tests/codegen_cuda/nvrtc_check.h"

namespace ricci::tests {
namespace {

ArgumentSpec array(Shape shape) {
    return {.dtype = DType::f32, .shape = std::move(shape), .strides = {}, .value = {}};
}

void check(const std::string& name, const std::string& text, const Signature& signature) {
    const BoundProgram program = ricci::bind(canonicalise(parse_program(text)), signature);
    const codegen::Plan plan = codegen::plan(program, gpu_target(90));
    check_golden("cuda/" + name, codegen::cuda::emit_kernels(plan.nests));
}

TEST_CASE("the text of a pointwise kernel") {
    check("bias", "Y[n,o] := relu(X[n,o] + b[o])", {{"X", array({1000, 64})}, {"b", array({64})}});
}
TEST_CASE("the text of a kernel whose vectors have an end") {
    check("scale", "y[i] := 2*x[i]", {{"x", array({1'000'003})}});
}
TEST_CASE("the text of a softmax") {
    check("softmax",
          "S[i,j] := exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k] - max[l](X[i,l])))",
          {{"X", array({128, 64})}});
}
TEST_CASE("the text of a column sum") {
    check("column_sum", "db[o] := dY[n,o]", {{"dY", array({128, 256})}});
}
TEST_CASE("the text of a transposition") {
    check("transposition", "B[i,j] := A[j,i]", {{"A", array({100, 200})}});
}
TEST_CASE("the text of a search for the greatest element") {
    check("argmax", "p[i] := argmax[k](A[i,k])", {{"A", array({1000, 100})}});
}

}  // namespace
}  // namespace ricci::tests
