// tests/codegen/quick_extrema_test.cpp – maxima and minima of a contraction with and without NaN
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "runtime/function.h"
#include "tests/codegen/check_plan.h"

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

}  // namespace
}  // namespace ricci::tests
