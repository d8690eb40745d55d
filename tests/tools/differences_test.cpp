// tests/tools/differences_test.cpp – right and wrong gradients against differences
#include <complex>
#include <string>

#include <doctest/doctest.h>

#include "tools/ricci/finite_differences.h"

namespace ricci::tests {
namespace {

using tool::compare_with_differences;
using tool::DifferenceResult;

/// What differences say of a program of `x`, `z`, `dY` as the gradient of `Y` for `z`.
DifferenceResult compare(const std::string& forward, const std::string& gradient, DType dtype,
                         std::int64_t size) {
    const Array x = Array::randn(dtype, {size}, 3);
    const Array z = Array::randn(dtype, {size}, 4);
    const Arguments arguments = {{"x", x}, {"z", z}};
    const Function function = compile(forward);
    const Array result = function(arguments);
    const Array cotangent = Array::randn(result.dtype(), result.shape(), 5);
    const Array found = compile(gradient)({{"x", x}, {"z", z}, {"dY", cotangent}});
    return compare_with_differences(function, arguments, "z", cotangent, found, 1e-15);
}

TEST_CASE("gradients of real arguments agree with differences, or are told with their place") {
    const std::string product = "Y[i] := x[i]*z[i]";
    const DifferenceResult right = compare(product, "dz[i] := dY[i]*x[i] + 0*z[i]", DType::f64, 40);
    CHECK(right.failure.empty());
    CHECK(right.compared == 32);
    const DifferenceResult wrong =
        compare(product, "dz[i] := dY[i]*x[i]*(i == 2 ? 2 : 1) + 0*z[i]", DType::f64, 5);
    CHECK(wrong.compared == 5);
    CHECK(wrong.failure.starts_with("element 2 of z: gradient "));
}

TEST_CASE("both parts of gradients of complex arguments are compared") {
    const std::string product = "Y[i] := x[i]*z[i]";
    const auto failure = [&](const std::string& gradient) {
        return compare(product, gradient, DType::c128, 5).failure;
    };
    const DifferenceResult right =
        compare(product, "dz[i] := dY[i]*conj(x[i]) + 0*z[i]", DType::c128, 40);
    CHECK(right.failure.empty());
    CHECK(right.compared == 64);
    CHECK(failure("dz[i] := dY[i]*x[i] + 0*z[i]").starts_with("real part of element 0 of z: "));
    CHECK(failure("dz[i] := dY[i]*conj(x[i]) + (i == 3 ? 0.5i : 0) + 0*z[i]")
              .starts_with("imaginary part of element 3 of z: gradient "));
    // No derivative by a complex number: the two parts move it differently.
    CHECK(compare("Y[i] := abs(z[i])*real(x[i])", "dz[i] := dY[i]*real(x[i])*z[i]/abs(z[i])",
                  DType::c128, 5)
              .failure.empty());
    CHECK(compare("Y[i] := conj(z[i])*x[i]", "dz[i] := conj(dY[i])*x[i] + 0*z[i]", DType::c128, 5)
              .failure.empty());
}

}  // namespace
}  // namespace ricci::tests
