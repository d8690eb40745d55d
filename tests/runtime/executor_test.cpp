// tests/runtime/executor_test.cpp – the memory of temporaries, arguments that overlap
#include "runtime/executor.h"

#include <doctest/doctest.h>

#include "runtime/overlap.h"

namespace ricci::runtime {
namespace {

using codegen::Plan;
using codegen::PlanBuffer;

/// A plan of temporaries alone; each step uses the buffers listed.
Plan plan_of(const std::vector<std::int64_t>& elements,
             const std::vector<std::vector<std::size_t>>& steps) {
    Plan plan;
    for (const std::int64_t count : elements) {
        PlanBuffer buffer;
        buffer.elements = count;
        plan.buffers.push_back(buffer);
    }
    for (const auto& buffers : steps) {
        codegen::Step step;
        step.buffers = buffers;
        step.tasks = 1;
        plan.steps.push_back(step);
    }
    return plan;
}

TEST_CASE("temporaries that live at once stand apart, aligned to 64 bytes") {
    const ScratchLayout layout = lay_out_scratch(plan_of({10, 20}, {{0, 1}}));
    CHECK(layout.offsets == std::vector<std::int64_t>{0, 64});
    CHECK(layout.size_bytes == 64 + 128);
}

TEST_CASE("a temporary takes the place of one that is no longer needed") {
    const ScratchLayout layout = lay_out_scratch(plan_of({16, 16, 16}, {{0, 1}, {1, 2}}));
    CHECK(layout.offsets == std::vector<std::int64_t>{0, 64, 0});
    CHECK(layout.size_bytes == 128);
}

TEST_CASE("a gap that is too small is passed over") {
    // 0 (64 bytes) ends before 2 (128 bytes) begins, 1 lives all the time above it.
    const ScratchLayout layout = lay_out_scratch(plan_of({16, 16, 32}, {{0, 1}, {1, 2}}));
    CHECK(layout.offsets == std::vector<std::int64_t>{0, 64, 128});
}

TEST_CASE("arrays overlap when their spans of memory do") {
    const Array a = Array::zeros(DType::f32, {10});
    CHECK(overlaps(a, a.slice(0, 3, 5)));
    CHECK_FALSE(overlaps(a.slice(0, 0, 5), a.slice(0, 5, 10)));
    CHECK_FALSE(overlaps(a, a.slice(0, 3, 3)));
    CHECK_FALSE(overlaps(a, a.copy()));
    float memory[4] = {};
    const Array backward = Array::view(memory + 3, {4}, {-1});
    CHECK(overlaps(backward, Array::view(memory, {1})));
}

}  // namespace
}  // namespace ricci::runtime
