// tests/codegen/nan_makers_test.cpp – maxima without a look for NaN, sums without masks
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "codegen/cpu/compile.h"
#include "runtime/executor.h"
#include "runtime/function.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t size = 140;
constexpr std::int64_t depth = 9;

/// How many buffers count what may make a NaN.
int counts(const BoundProgram& program, const Target& target) {
    int number = 0;
    for (const codegen::PlanBuffer& buffer : codegen::plan(program, target).buffers)
        number += buffer.name.find("_nan") != std::string::npos ? 1 : 0;
    return number;
}

void check(const std::string& text, DType dtype, int expected_counts = 2) {
    CAPTURE(text);
    const Signature signature = {{"A", array({size, depth}, dtype)},
                                 {"B", array({depth, size}, dtype)}};
    const BoundProgram program = bound(text, signature);
    for (const int vector_bytes : {16, 64}) {
        Target target = example_target(vector_bytes);
        target.forced = Forced::tiles;
        CHECK(counts(program, target) == expected_counts);
        CHECK(interpreted_difference(program, signature, target) == "");
    }
    CHECK(compiled_difference(program, signature) == "");
}

TEST_CASE("operands that are read often are looked through for what makes a NaN") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        check("D[i,j] := max[k](A[i,k] + B[k,j])", dtype);
        check("D[i,j] := min[k](A[i,k] - B[k,j])", dtype);
        check("D[i,j] := max[k](A[i,k] * B[k,j])", dtype);
        check("D[i,j] := min[k]((A[i,k] - B[k,j])^2)", dtype);
        check("D[i,j] := max[k](abs(exp(A[i,k]) - B[k,j]))", dtype);
    }
}

TEST_CASE(
    "where the body may be NaN of any numbers, or nothing is gained, none are looked through") {
    check("D[i,j] := max[k](sqrt(A[i,k] + B[k,j]))", DType::f32, 0);
    check("D[i,j] := max[k]((A[i,k] + B[k,j]) * A[i,k])", DType::f32, 0);
    check("D[i,j] := sum[k](A[i,k] * B[k,j])", DType::f32, 0);
    check("D[i,j] := max[k](A[i,k] + B[k,j])", DType::i32, 0);
    const Signature few = {{"A", array({size, depth})}, {"B", array({depth, 40})}};
    CHECK(counts(bound("D[i,j] := max[k](A[i,k] + B[k,j])", few), example_target(64)) == 0);
}

/// All elements of a result but those that a rule names are the number.
template <class Rule>
std::string difference(const Array& result, float number, float special, const Rule& is_special) {
    for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t j = 0; j < size; ++j) {
            const float is = result.span<float>()[std::size_t(i * size + j)];
            const float wanted = is_special(i, j) ? special : number;
            if (std::isnan(wanted) ? !std::isnan(is) : is != wanted)
                return "at " + std::to_string(i) + ", " + std::to_string(j) + ": " +
                       (std::isnan(is) ? "nan" : std::to_string(is));
        }
    return "";
}

TEST_CASE("what an operand holds beside numbers goes where it belongs") {
    const Function f = compile("D[i,j] := max[k](A[i,k] + B[k,j])");
    const Function g = compile("D[i,j] := min[k](A[i,k] + B[k,j])");
    const auto run = [&](const Function& function, float in_row, float in_column, float elsewhere) {
        const Array A = Array::full(DType::f32, {size, depth}, elsewhere);
        const Array B = Array::full(DType::f32, {depth, size}, 1);
        A.span<float>()[std::size_t(17 * depth + 3)] = in_row;
        B.span<float>()[std::size_t(3 * size + 90)] = in_column;
        return function(A, B);
    };
    const auto row = [](std::int64_t i, std::int64_t) { return i == 17; };
    const auto both = [](std::int64_t i, std::int64_t j) { return i == 17 && j == 90; };
    const auto cross = [](std::int64_t i, std::int64_t j) { return i == 17 || j == 90; };
    CHECK(difference(run(f, nan, 1, 2), 3, nan, row) == "");
    CHECK(difference(run(f, -nan, 1, 2), 3, nan, row) == "");
    CHECK(difference(run(f, nan, nan, 2), 3, nan, cross) == "");
    CHECK(difference(run(f, -infinity, 1, 2), 3, 3, row) == "");
    CHECK(difference(run(f, infinity, 1, 2), 3, infinity, row) == "");
    CHECK(difference(run(f, -infinity, -infinity, 2), 3, 3, both) == "");
    CHECK(difference(run(f, 9, 7, -infinity), -infinity, 10, row) == "at 17, 90: 16.000000");
    CHECK(difference(run(g, nan, 1, 2), 3, nan, row) == "");
    CHECK(difference(run(g, infinity, infinity, 2), 3, 3, row) == "");
    CHECK(difference(run(g, -infinity, 1, 2), 3, -infinity, row) == "");
    // Infinities of both signs meet at one point.
    CHECK(difference(run(f, infinity, -infinity, 2), 3, infinity, row) == "at 17, 90: nan");
    CHECK(difference(run(g, infinity, -infinity, 2), 3, -infinity,
                     [](std::int64_t, std::int64_t j) { return j == 90; }) == "at 17, 90: nan");
}

// The gradient of a padded convolution: lanes at the edge take no part in some taps.
constexpr const char* input_gradient =
    "dX[n,c,t,u] := sum[o,r,s | t-r+1 >= 0 && t-r+1 < 12 && u-s+1 >= 0 && u-s+1 < 12]"
    "(dY[n,o,t-r+1,u-s+1]*W[o,c,r,s]) where t in 0:12, u in 0:12";
Signature layer(DType dtype) {
    return {{"dY", array({2, 5, 12, 12}, dtype)}, {"W", array({5, 3, 3, 3}, dtype)}};
}

TEST_CASE("sums under masks are looked through where masks cost, and only then") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Signature signature = layer(dtype);
        const BoundProgram program = bound(input_gradient, signature);
        for (const int vector_bytes : {16, 32, 64}) {
            Target target = example_target(vector_bytes);
            target.forced = Forced::tiles;
            CAPTURE(vector_bytes);
            CHECK(counts(program, target) == (vector_bytes == 64 ? 0 : 1));
            CHECK(interpreted_difference(program, signature, target) == "");
        }
        CHECK(compiled_difference(program, signature) == "");
    }
    const auto counts_of = [](const std::string& text, const Signature& signature) {
        Target target = example_target(32);
        target.forced = Forced::tiles;
        return counts(bound(text, signature), target);
    };
    const std::string text = input_gradient;
    const std::string difference = text.substr(0, text.find("(dY")) +
                                   "(dY[n,o,t-r+1,u-s+1]-W[o,c,r,s])" +
                                   text.substr(text.find(" where"));
    CHECK(counts_of(difference, layer(DType::f32)) == 0);
    // The third factor is no number where the columns' operand is 0.
    const std::string entropy =
        text.substr(0, text.find("(dY")) +
        "(dY[n,o,t-r+1,u-s+1]*W[o,c,r,s]*log(abs(dY[n,o,t-r+1,u-s+1]*W[o,c,r,s])))" +
        text.substr(text.find(" where"));
    CHECK(counts_of(entropy, layer(DType::f32)) == 0);
    for (const int vector_bytes : {16, 32}) {
        Target target = example_target(vector_bytes);
        target.forced = Forced::tiles;
        CHECK(interpreted_difference(bound(entropy, layer(DType::f32)), layer(DType::f32),
                                     target) == "");
    }
    // Too few points for each weight.
    CHECK(counts_of("Y[n,t] := sum[s | t-s >= 0 && t-s < 60](X[n,t-s]*W[n,s]) where t in 0:60",
                    {{"X", array({40, 60})}, {"W", array({40, 60})}}) == 0);
}

TEST_CASE("a weight that is no number reaches the points that take it, and no others") {
    Target target = codegen::cpu::host_target();
    if (target.vector_bytes > 32) {
        target = codegen::cpu::named_target("avx2");
    }
    for (const Forced forced : {Forced::nothing, Forced::tiles}) {
        target.forced = forced;
        const Signature signature = layer(DType::f32);
        const BoundProgram program = bound(input_gradient, signature);
        const runtime::Executable executable(program, "test", target);
        for (const float special : {infinity, -infinity, nan, 1e30F}) {
            std::vector<Array> values = random_arguments(program, signature, 3);
            // Of the second channel, at the tap that the first row and column do not take.
            values[1].span<float>()[(0 * 3 + 1) * 9 + 8] = special;
            const std::vector<const Array*> arguments = {&values[0], &values[1]};
            const Array found = executable.run(arguments)[0];
            const Array expected = runtime::evaluate_with_bounds(program, values)[0].value;
            for (std::int64_t n = 0; n < 2; ++n)
                for (std::int64_t c = 0; c < 3; ++c)
                    for (std::int64_t t = 0; t < 12; ++t)
                        for (std::int64_t u = 0; u < 12; ++u) {
                            const double is = found.at({n, c, t, u});
                            const double wanted = expected.at({n, c, t, u});
                            CAPTURE(c);
                            CAPTURE(t);
                            CAPTURE(u);
                            CHECK(std::isnan(is) == std::isnan(wanted));
                            if (std::isinf(is) || std::isinf(wanted)) CHECK(is == wanted);
                            // Only the others take it.
                            if (c != 1 || t == 0 || u == 0)
                                CHECK(is == doctest::Approx(wanted).epsilon(1e-4));
                        }
        }
    }
}

}  // namespace
}  // namespace ricci::tests
