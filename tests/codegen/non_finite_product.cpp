// tests/codegen/non_finite_product.cpp – a product of matrices that hold infinities and NaN
#include "tests/codegen/non_finite_product.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/text.h"
#include "runtime/executor.h"
#include "runtime/reference.h"
#include "tests/codegen/check_plan.h"
#include "tests/support/compare.h"

namespace ricci::tests {
namespace {

constexpr std::int64_t rows = 40;
constexpr std::int64_t points = 65;

std::vector<Array> operands(const BoundProgram& program, const Signature& signature, DType dtype) {
    std::vector<Array> values = random_arguments(program, signature, 3);
    for (Array& array : values) array = array.to(DType::f32);
    const auto a = [&](std::int64_t row, std::int64_t point) -> float& {
        return values[0].span<float>()[std::size_t(row * points + point)];
    };
    const auto b = [&](std::int64_t point, std::int64_t column) -> float& {
        return values[1].span<float>()[std::size_t(point * rows + column)];
    };
    const float inf = std::numeric_limits<float>::infinity();
    a(3, points - 1) = inf;
    a(39, 0) = -inf;
    a(5, 7) = std::nanf("");
    if (dtype == DType::f32) a(9, 1) = std::numeric_limits<float>::max();
    b(points - 1, 39) = inf;
    b(points - 1, 2) = 0;
    for (Array& array : values) array = array.to(dtype);
    return values;
}

}  // namespace

std::string non_finite_product_difference(DType dtype, const Target& target, double tolerance) {
    const Signature signature = {{"A", array({rows, points}, dtype)},
                                 {"B", array({points, rows}, dtype)}};
    const BoundProgram program = bound("C[i,j] := A[i,k]*B[k,j]", signature);
    const std::vector<Array> values = operands(program, signature, dtype);
    const runtime::Executable executable(program, "test", target);
    const std::vector<const Array*> arguments = {&values[0], &values[1]};
    const Array found = executable.run(arguments)[0];
    const Array expected = runtime::evaluate_with_bounds(program, values)[0].value;
    if (std::string text = first_difference(found, expected, tolerance, 0.01); !text.empty())
        return text + "\n" + str(executable.plan());
    // The infinity of the last point meets a 0 of the other side.
    if (!std::isnan(found.at({3, 2}))) return "[3,2] is no NaN";
    return {};
}

}  // namespace ricci::tests
