// tests/codegen/left_out_zeros_test.cpp – products with padded arrays, without the terms that are 0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "runtime/executor.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

const std::string convolution = "Y[n,o,y,x] := X[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]";
const std::string weight_gradient =
    "dW[o,c,r,s] := dY[n,o,y,x]*X[n,c,pad(y+r-1,1),pad(x+s-1,1)] where r in 0:3, s in 0:3";

/// Of so many images, channels on both sides and pixels a side.
Signature layer(std::int64_t images, std::int64_t channels, std::int64_t size,
                DType dtype = DType::f32) {
    return {{"X", array({images, channels, size, size}, dtype)},
            {"W", array({channels, channels, 3, 3}, dtype)}};
}
Signature gradient(std::int64_t images, std::int64_t channels, std::int64_t size) {
    const ArgumentSpec image = array({images, channels, size, size});
    return {{"dY", image}, {"X", image}};
}

Target target_of(int vector_bytes, Forced forced = Forced::nothing) {
    Target target = example_target(vector_bytes);
    target.forced = forced;
    return target;
}
std::string plan_of(const std::string& text, const Signature& signature, const Target& target) {
    return str(codegen::plan(bound(text, signature), target));
}
bool leaves_out(const std::string& plan) {
    return plan.find("# 0: all numbers are finite") != std::string::npos &&
           plan.find("# not 0: some numbers are not finite") != std::string::npos;
}

/// Whether a program of results that `:=` makes reads such an argument, or updates it.
bool is_argument(const std::string& name, const std::string& text) {
    const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
    if (has(name + "[n,o,y,x] :=")) return false;
    return has(" " + name + "[") || has("(" + name + "[") || has("*" + name + "[") ||
           has(name + "[n,o,y,x] +=");
}

TEST_CASE("large products leave the zeros around images out") {
    const Target target = target_of(64);
    const auto is_left_out = [&](const std::string& text, const Signature& signature) {
        return leaves_out(plan_of(text, signature, target));
    };
    CHECK(is_left_out(convolution, layer(4, 64, 7)));
    CHECK(is_left_out(weight_gradient, gradient(4, 64, 7)));
    // What is padded may be computed by the program.
    CHECK(
        is_left_out("R[n,c,y,x] := relu(X[n,c,y,x]); "
                    "Y[n,o,y,x] := R[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]",
                    layer(4, 64, 7)));
    // A tenth of the points; a single image.
    CHECK(is_left_out(convolution, layer(4, 64, 14)));
    CHECK(is_left_out(convolution, layer(1, 128, 14)));
    CHECK(is_left_out(weight_gradient, gradient(1, 128, 7)));
    // A fortieth of the points, too few in all, few rows that read all images for each tap.
    CHECK_FALSE(is_left_out(convolution, layer(1, 64, 56)));
    CHECK_FALSE(is_left_out(convolution, layer(4, 16, 7)));
    CHECK_FALSE(is_left_out(weight_gradient, gradient(16, 16, 28)));
    // Masks cost there.
    CHECK_FALSE(leaves_out(plan_of(convolution, layer(4, 64, 7), target_of(32))));
}

TEST_CASE("what is left of a product is computed as all of it would be") {
    const Signature small = {{"X", array({5, 12, 6, 5})}, {"W", array({8, 12, 3, 3})},
                             {"Y", array({5, 8, 6, 5})},  {"b", array({8})},
                             {"dY", array({5, 8, 6, 5})}, {"Z", array({5, 12, 6, 5})}};
    struct Case {
        const char* text;
        bool is_left_out;
    };
    const Case cases[] = {
        {"Y[n,o,y,x] := X[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]", true},
        {"Y[n,o,y,x] := W[o,c,r,s]*X[n,c,pad(y+r-1,1),x+s]", true},
        {"Y[n,o,y,x] := X[n,c,pad(y+2*r-2,2),pad(x-s+1,1)]*W[o,c,r,s]", true},
        {"Y[n,o,y,x] := X[n,c,pad(y+r,0,2),pad(x+s-2,2,0)]*W[o,c,r,s] + b[o]", true},
        {"Y[n,o,y,x] += X[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]", true},
        {"dW[o,c,r,s] := dY[n,o,y,x]*X[n,c,pad(y+r-1,1),pad(x+s-1,1)] where r in 0:3, s in 0:3",
         true},
        {"S[n,c,y,x] := X[n,c,y,x] + Z[n,c,y,x]; "
         "Y[n,o,y,x] := relu(sum[c,r,s](S[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s]) + b[o])",
         true},
        // Another number around it; no sum; more than a product.
        {"Y[n,o,y,x] := X[n,c,pad(y+r-1,1,1,1),pad(x+s-1,1,1,1)]*W[o,c,r,s]", false},
        {"Y[n,o,y,x] := max[c,r,s](X[n,c,pad(y+r-1,1),pad(x+s-1,1)]*W[o,c,r,s])", false},
        {"Y[n,o,y,x] := sum[c,r,s](exp(X[n,c,pad(y+r-1,1),pad(x+s-1,1)])*W[o,c,r,s])", false},
    };
    const Target target = target_of(64, Forced::rewritings);
    for (const Case& each : cases) {
        CAPTURE(each.text);
        Signature signature = small;
        const std::string text = each.text;
        std::erase_if(signature,
                      [&](const auto& argument) { return !is_argument(argument.first, text); });
        const std::string plan = plan_of(text, signature, target);
        CAPTURE(plan);
        CHECK(leaves_out(plan) == each.is_left_out);
        CHECK(interpreted_difference(bound(text, signature), signature, target) == "");
    }
    const Signature wide = layer(5, 12, 6, DType::f64);
    CHECK(leaves_out(plan_of(convolution, wide, target)));
    CHECK(interpreted_difference(bound(convolution, wide), wide, target) == "");
}

TEST_CASE("a weight that is no number reaches the points whose zeros it is multiplied with") {
    Target target = codegen::cpu::host_target();
    target.forced = Forced::rewritings;
    const Signature signature = layer(4, 16, 7);
    const BoundProgram program = bound(convolution, signature);
    if (target.vector_bytes == 64) REQUIRE(leaves_out(str(codegen::plan(program, target))));
    const runtime::Executable executable(program, "test", target);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float special : {1.0F, infinity, -infinity, std::nanf(""), 1e38F}) {
        CAPTURE(special);
        std::vector<Array> values = random_arguments(program, signature, 3);
        // Of the second result, at the tap that meets zeros in the first row and column.
        values[1].span<float>()[16 * 9] = special;
        // What is read is no number either.
        values[0].span<float>()[3 * 49 + 9] = infinity;
        const std::vector<const Array*> arguments = {&values[0], &values[1]};
        const Array found = executable.run(arguments)[0];
        const Array expected = runtime::evaluate_with_bounds(program, values)[0].value;
        CHECK(first_difference(found, expected, 1e-4, 1e-2) == "");
        const auto none = std::ranges::count_if(expected.span<const float>(),
                                                [](float value) { return std::isnan(value); });
        // One of the sixteen results of each image has zeros times an infinity.
        CHECK((none >= 4 * 13) == !std::isfinite(special));
    }
}

}  // namespace
}  // namespace ricci::tests
