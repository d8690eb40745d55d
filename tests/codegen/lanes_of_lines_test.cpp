// tests/codegen/lanes_of_lines_test.cpp – large transposed results are written by whole lines
#include <string>

#include <doctest/doctest.h>

#include "codegen/plan.h"
#include "tests/codegen/check_plan.h"

namespace ricci::tests {
namespace {

std::string plan_of(const std::string& text, const Signature& signature, int vector_bytes = 32) {
    return str(codegen::plan(bound(text, signature), example_target(vector_bytes)));
}
/// Whether vectors of so many lanes are transposed and go around the caches.
bool is_streamed(const std::string& plan, int lanes) {
    INFO(plan);
    const bool has_directive = plan.find("  stream Y") != std::string::npos;
    CHECK((plan.find("# streaming") != std::string::npos) == has_directive);
    CHECK(plan.find("  transpose ") != std::string::npos);
    return has_directive &&
           plan.find("  transpose j " + std::to_string(lanes)) != std::string::npos;
}
bool streams(Shape shape, int lanes, DType dtype = DType::f32, int vector_bytes = 32) {
    return is_streamed(
        plan_of("Y[j,i] := X[i,j]", {{"X", array(std::move(shape), dtype)}}, vector_bytes), lanes);
}

}  // namespace

TEST_CASE("lanes of transposed results are those of a line where vectors are shorter") {
    CHECK(streams({3136, 2720}, 16));
    CHECK(streams({3136, 2720}, 16, DType::f32, 16));
    CHECK(streams({3136, 2720}, 16, DType::f32, 64));
    CHECK(streams({3136, 1400}, 8, DType::f64));
    CHECK(is_streamed(plan_of("Y[n,j,i] := 2*X[n,i,j] + b[j]",
                              {{"X", array({50, 3600, 64})}, {"b", array({64})}}),
                      16));
}

TEST_CASE("results that the caches hold, or whose rows begin within lines, keep a vector's lanes") {
    CHECK_FALSE(streams({1008, 1008}, 16));
    CHECK_FALSE(streams({3128, 3200}, 16));
    CHECK_FALSE(streams({3136, 6000}, 32, DType::i16));
    // Eight columns of 24, or four of 12, would be done point by point.
    const auto of_images = [](std::int64_t columns, DType dtype) {
        return plan_of("Y[n,j,i] := X[n,i,j]", {{"X", array({200, 3136, columns}, dtype)}});
    };
    CHECK_FALSE(is_streamed(of_images(24, DType::f32), 16));
    CHECK(is_streamed(of_images(32, DType::f32), 16));
    CHECK_FALSE(is_streamed(of_images(12, DType::f64), 8));
    CHECK(streams({3136, 4015}, 16));
}

TEST_CASE("results that are read backwards are not written by pieces of lines") {
    const Signature signature = {{"X", array({4096, 3136})}};
    CHECK_FALSE(is_streamed(plan_of("Y[j,i] := X[4095-i,j]", signature), 8));
    CHECK(is_streamed(plan_of("Y[j,i] := X[3135-i,j]", {{"X", array({3136, 4000})}}), 16));
}

TEST_CASE("results whose rows meet in few sets go through the caches unless operands' do, too") {
    CHECK_FALSE(streams({4096, 3136}, 16));
    CHECK_FALSE(streams({512, 20000}, 16));
    CHECK(streams({4096, 4096}, 16));
    CHECK(streams({3136, 4096}, 16));
}

}  // namespace ricci::tests
