// tests/codegen/padded_factors_test.cpp – factors under conditions, copied with zeros around them
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "codegen/cpu/compile.h"
#include "runtime/executor.h"
#include "runtime/function.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

/// The gradient of a padded convolution of so many rows and columns.
std::string input_gradient_of(const std::string& size) {
    return "dX[n,c,t,p] := sum[o,r,s | t-r+1 >= 0 && t-r+1 < " + size +
           " && p-s+1 >= 0 && p-s+1 < " + size +
           "](dY[n,o,t-r+1,p-s+1]*W[o,c,r,s]) where t in 0:" + size + ", p in 0:" + size;
}
const std::string input_gradient = input_gradient_of("20");

Signature layer(DType dtype = DType::f32) {
    return {{"dY", array({2, 16, 20, 20}, dtype)}, {"W", array({16, 24, 3, 3}, dtype)}};
}

std::string plan_of(const std::string& text, const Signature& signature, int vector_bytes,
                    Forced forced = Forced::nothing) {
    Target target = example_target(vector_bytes);
    target.forced = forced;
    return str(codegen::plan(bound(text, signature), target));
}
bool is_padded(const std::string& plan) { return plan.find("_padded") != std::string::npos; }

TEST_CASE("where masks cost, conditions of a factor are zeros around a copy of it") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int vector_bytes : {16, 32, 64}) {
            const std::string plan = plan_of(input_gradient, layer(dtype), vector_bytes);
            CAPTURE(plan);
            CHECK(is_padded(plan) == (vector_bytes < 64));
            if (vector_bytes == 64) continue;
            CHECK(plan.find("only dX_nan              # 0: all numbers are finite") !=
                  std::string::npos);
            CHECK(plan.find("only dX_nan              # not 0: some numbers are not finite") !=
                  std::string::npos);
            // The careful way looks for nothing more.
            CHECK(plan.find("dX_nan2") == std::string::npos);
            CHECK(plan.find("look for") == std::string::npos);
        }
    check_values(input_gradient, layer());
    check_values(input_gradient, layer(DType::f64));
}

TEST_CASE("pixels of which conditions leave some out are rows of a tile that reads a padded copy") {
    const auto is_bounded = [](const std::string& plan) {
        return is_padded(plan) && plan.find("dX_nan") == std::string::npos;
    };
    const Signature two_images = {{"dY", array({2, 256, 7, 7})}, {"W", array({256, 256, 3, 3})}};
    const std::string plan = plan_of(input_gradient_of("7"), two_images, 64);
    CAPTURE(plan);
    CHECK(is_bounded(plan));
    CHECK(plan.find("tile t 7 ") != std::string::npos);
    CHECK_FALSE(is_bounded(plan_of(input_gradient_of("7"), two_images, 32)));
    // Whatever the extents, steps and reach of the conditions.
    Target target = example_target(64);
    target.forced = Forced::rewritings;
    for (const std::string& text :
         {input_gradient_of("5"),
          std::string("dX[n,c,t,p] := sum[o,r,s | t-2*r+2 >= 0 && t-2*r+2 < 5 && p+s-1 >= 0 && "
                      "p+s-1 < 5](dY[n,o,t-2*r+2,p+s-1]*W[o,c,r,s]) where t in 0:6, p in 0:4")}) {
        const Signature small = {{"dY", array({2, 5, 5, 5})}, {"W", array({5, 6, 3, 3})}};
        const codegen::Plan forced = codegen::plan(bound(text, small), target);
        CAPTURE(str(forced));
        CHECK(is_bounded(str(forced)));
        CHECK(interpreted_difference(bound(text, small), small, target) == "");
    }
}

TEST_CASE("rows of a padded copy share the zeros between them") {
    // Of 20 columns, so many before and behind them as the reach of the taps says.
    const auto gradient = [](int taps, int before, int columns) {
        return format(
            "dX[n,c,t,p] := sum[o,r,s | t-r+1 >= 0 && t-r+1 < 20 && p-s+{0} >= 0 && p-s+{0} < 20]"
            "(dY[n,o,t-r+1,p-s+{0}]*W[o,c,r,s]) where t in 0:20, p in 0:{1}, s in 0:{2}",
            before, columns, taps);
    };
    struct Case {
        int taps, before, columns;
        int zeros_before, zeros_behind;
    };
    for (const auto& [taps, before, columns, zeros_before, zeros_behind] :
         {Case{3, 1, 20, 1, 1}, Case{5, 2, 20, 2, 2}, Case{5, 3, 20, 1, 3}, Case{2, 0, 20, 1, 0}}) {
        const std::string text = gradient(taps, before, columns);
        const Signature signature = {{"dY", array({2, 16, 20, 20})},
                                     {"W", array({16, 24, 3, taps})}};
        const std::string plan = plan_of(text, signature, 32);
        CAPTURE(plan);
        REQUIRE(is_padded(plan));
        const int pitch = 20 + std::max(zeros_before, zeros_behind);
        const int shared = std::min(zeros_before, zeros_behind);
        CHECK(plan.find(format("out dX_padded: f32[{}]", 2 * 16 * 22 * pitch + shared)) !=
              std::string::npos);
        check_values(text, signature);
    }
}

/// The gradient of a padded convolution of images with channels last.
std::string channels_last(const std::string& sum) {
    return "dX[n,t,p,c] := sum[" + sum +
           " | t-r+1 >= 0 && t-r+1 < size(dY,1) && p-s+1 >= 0 && p-s+1 < size(dY,2)]"
           "(dY[n,t-r+1,p-s+1,o]*W[r,s,c,o]) where t in 0:size(dY,1), p in 0:size(dY,2)";
}
Signature images(std::int64_t count, std::int64_t size, std::int64_t channels = 16) {
    return {{"dY", array({count, size, size, channels})}, {"W", array({3, 3, 24, channels})}};
}

TEST_CASE("channels last, a single image is padded, of many all rows of a tile have a condition") {
    const std::string text = channels_last("o,r,s");
    CHECK(is_padded(plan_of(text, images(1, 20, 32), 64)));
    CHECK(!is_padded(plan_of(text, images(16, 20, 32), 64)));
    check_values(text, images(1, 6, 8));
    check_values(text, images(9, 3, 8));
}

TEST_CASE("where the weights of a single image are not finite it is summed under conditions") {
    const Signature signature = images(1, 12);
    const BoundProgram program = bound(channels_last("o,r,s"), signature);
    const Target target = codegen::cpu::host_target();
    CHECK(is_padded(str(codegen::plan(program, target))));
    const runtime::Executable executable(program, "test", target);
    for (const float special : {1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
        CAPTURE(special);
        std::vector<Array> values = random_arguments(program, signature, 3);
        values[1].span<float>()[0] = special;
        const std::vector<const Array*> arguments = {&values[0], &values[1]};
        const Array found = executable.run(arguments)[0];
        const Array expected = runtime::evaluate_with_bounds(program, values)[0].value;
        CHECK(first_difference(found, expected, 1e-4, 1e-4) == "");
    }
}

TEST_CASE("rows in a tile are read along the axis that has them side by side") {
    const auto innermost_is_channel = [&](const std::string& sum) {
        const BoundProgram program = bound(channels_last(sum), images(16, 20, 32));
        const codegen::Plan plan = codegen::plan(program, example_target(64));
        const std::string loops = str(plan.nests.back());
        const std::size_t channel = loops.find("for o in 0..32");
        return channel != std::string::npos && loops.find("for s in", channel) == std::string::npos;
    };
    CHECK(innermost_is_channel("o,r,s"));
    CHECK(innermost_is_channel("r,o,s"));
    check_values(channels_last("r,o,s"), images(9, 3, 8));
}

TEST_CASE("a weight that is no number reaches those points of a padded factor that take it") {
    Target target = codegen::cpu::host_target();
    if (target.vector_bytes > 32) target = codegen::cpu::named_target("avx2");
    const Signature signature = layer();
    const BoundProgram program = bound(input_gradient, signature);
    REQUIRE(is_padded(str(codegen::plan(program, target))));
    const runtime::Executable executable(program, "test", target);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float special : {1.0F, infinity, -infinity, std::nanf(""), 1e38F}) {
        std::vector<Array> values = random_arguments(program, signature, 3);
        // Of the second channel, at the tap that the first row and column do not take.
        values[1].span<float>()[(0 * 24 + 1) * 9 + 8] = special;
        // What is read is no number either.
        values[0].span<float>()[3 * 400 + 45] = infinity;
        const std::vector<const Array*> arguments = {&values[0], &values[1]};
        const Array found = executable.run(arguments)[0];
        const Array expected = runtime::evaluate_with_bounds(program, values)[0].value;
        const auto infinite = std::ranges::count_if(expected.span<const float>(),
                                                    [](float value) { return std::isinf(value); });
        CHECK(infinite > (std::isinf(special) ? 400 : 0));
        CAPTURE(special);
        CHECK(first_difference(found, expected, 1e-4, 1e-4) == "");
    }
}

TEST_CASE("conditions that are intervals of what a factor is read at are padded, others are not") {
    struct Case {
        const char* text;
        bool is_padded;
    };
    const Case cases[] = {
        // One end alone; steps of the sum; the second factor; less than the array.
        {"Y[n,o,t] := sum[c,r | t-r >= 0](X[n,c,t-r]*W[o,c,r]) where t in 0:40", true},
        {"Y[n,o,t] := sum[c,r | t-2*r >= 0 && t-2*r < 40](X[n,c,t-2*r]*W[o,c,r]) where t in 0:44",
         true},
        {"Y[n,o,t] := sum[c,r | t-r+1 >= 0 && t-r+1 < 40](W[o,c,r]*X[n,c,t-r+1]) where t in 0:40",
         true},
        {"Y[n,o,t] := sum[c,r | t-r >= 3 && t-r < 30](X[n,c,t-r]*W[o,c,r]) where t in 0:40", true},
        // Both factors move with them, and neither; more than a product; no sum.
        {"Y[n,o,t] := sum[c,r | t-r >= 0](X[n,c,t-r]*W[o,c,r]*X[n,c,t-r]) where t in 0:40", false},
        {"Y[n,o,t] := sum[c,r | t-r >= 0](X[n,c,t]*W[o,c,r]) where t in 0:40", false},
        {"Y[n,o,t] := max[c,r | t-r >= 0](X[n,c,t-r]*W[o,c,r]) where t in 0:40", false},
        // Read outside of what the conditions keep.
        {"Y[n,o,t] := sum[c,r | t-r >= 0](X[n,c,t]*W[o,c,r] + X[n,c,t-r]) where t in 0:40", false},
    };
    const Signature signature = {{"X", array({9, 4, 40})}, {"W", array({8, 4, 3})}};
    for (const Case& each : cases) {
        CAPTURE(each.text);
        const std::string plan = plan_of(each.text, signature, 32, Forced::tiles);
        CAPTURE(plan);
        CHECK(is_padded(plan) == each.is_padded);
        Target target = example_target(32);
        target.forced = Forced::tiles;
        CHECK(interpreted_difference(bound(each.text, signature), signature, target) == "");
        check_values(each.text, signature);
    }
}

TEST_CASE("copies that would take long beside a product are not made") {
    const auto is_padded_for = [](std::int64_t images, std::int64_t channels) {
        return is_padded(plan_of(
            input_gradient_of("112"),
            {{"dY", array({images, 64, 112, 112})}, {"W", array({64, channels, 3, 3})}}, 32));
    };
    // Each element of what would go to memory and come back serves three channels.
    CHECK_FALSE(is_padded_for(8, 3));
    CHECK(is_padded_for(8, 64));
}

}  // namespace
}  // namespace ricci::tests
