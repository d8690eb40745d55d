// tests/library/plan_test.cpp – library calls stand for the steps of plans
#include "codegen/plan.h"

#include <doctest/doctest.h>

#include "tests/library/library_calls.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

codegen::Plan gpu_plan(const std::string& text, const Signature& signature) {
    Target target;
    target.cpu = "sm_90";
    target.gpu.compute_capability = 90;
    return codegen::plan(bound(text, signature), target);
}

}  // namespace

TEST_CASE("a plan for a GPU names the steps that a library can do") {
    const codegen::Plan plan = gpu_plan(
        "H[n,j] := X[n,k]*V[k,j]; Y[n,o] := relu(sum[j](H[n,j]*W[j,o]) + b[o]); "
        "L[n] := max[o](Y[n,o])",
        {{"X", array({512, 784})},
         {"V", array({784, 256})},
         {"b", array({64})},
         {"W", array({256, 64})}});
    REQUIRE(plan.library_calls.size() == 2);
    std::size_t next = 0;
    for (const codegen::LibraryCall& call : plan.library_calls) {
        CHECK(std::holds_alternative<codegen::MatrixProduct>(call.call));
        CHECK(call.first_step >= next);
        CHECK(call.step_count > 0);
        next = call.first_step + call.step_count;
    }
    CHECK(next < plan.steps.size());
    // Every buffer that a call writes is written by its steps.
    for (const codegen::LibraryCall& call : plan.library_calls) {
        const auto& product = std::get<codegen::MatrixProduct>(call.call);
        bool is_written = false;
        for (std::size_t s = call.first_step; s < call.first_step + call.step_count; ++s) {
            const codegen::Step& step = plan.steps[s];
            for (std::size_t i = 0; i < step.buffers.size(); ++i)
                is_written |= step.buffers[i] == product.result.place &&
                              plan.nests[step.nest].buffers[i].is_written;
        }
        CHECK(is_written);
    }
}

TEST_CASE("a sum that is split in two levels is one call") {
    const codegen::Plan plan = gpu_plan("C[i,j] := A[k,i]*B[k,j]",
                                        {{"A", array({200000, 32})}, {"B", array({200000, 32})}});
    REQUIRE(plan.library_calls.size() == 1);
    CHECK(plan.library_calls[0].first_step == 0);
    CHECK(plan.library_calls[0].step_count == plan.steps.size());
}

TEST_CASE("a plan for a CPU names none") {
    const Signature signature = {{"A", array({512, 512})}, {"B", array({512, 512})}};
    CHECK(
        codegen::plan(bound("C[i,j] := A[i,k]*B[k,j]", signature), Target{}).library_calls.empty());
}
