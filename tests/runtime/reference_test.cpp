// tests/runtime/reference_test.cpp – the oracle itself, against values worked out by hand
#include "runtime/reference.h"

#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "dsl/canonical.h"
#include "runtime/function.h"

using namespace ricci;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::nan("");

BoundProgram bound(const std::string& text, const Arguments& arguments) {
    Signature signature;
    for (const auto& [name, array] : arguments) {
        ArgumentSpec spec;
        spec.dtype = array.dtype();
        spec.shape = array.shape();
        spec.is_weak = array.is_weak();
        if (array.is_weak()) spec.value = array.item();
        signature.emplace(name, spec);
    }
    return ricci::bind(canonicalise(parse_program(text)), signature);
}

std::vector<Array> in_order(const BoundProgram& program, const Arguments& arguments) {
    std::vector<Array> ordered;
    for (TensorId id : program.arguments)
        for (const auto& [name, array] : arguments)
            if (name == program.at(id).name) ordered.push_back(array);
    return ordered;
}

Array result(const std::string& text, const Arguments& arguments) {
    const BoundProgram program = bound(text, arguments);
    return runtime::evaluate(program, in_order(program, arguments)).back();
}

runtime::Estimate estimate(const std::string& text, const Arguments& arguments) {
    const BoundProgram program = bound(text, arguments);
    return runtime::evaluate_with_bounds(program, in_order(program, arguments)).back();
}

Array f64(std::initializer_list<double> values) {
    return Array::from<double>(values, {static_cast<std::int64_t>(values.size())});
}
Array f32(std::initializer_list<float> values) {
    return Array::from<float>(values, {static_cast<std::int64_t>(values.size())});
}

std::vector<double> values(const Array& array) {
    const Array converted = array.to(DType::f64);
    const auto span = converted.span<double>();
    return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("a product of matrices") {
    const Array w = Array::from<double>({1, 2, 3, 4}, {2, 2});
    const Array x = Array::from<double>({5, 6, 7, 8}, {2, 2});
    const Array y = result("Y[n,o] := W[o,k]*X[n,k]", {{"W", w}, {"X", x}});
    CHECK(values(y) == std::vector<double>{17, 39, 23, 53});
}

TEST_CASE("a bias is added once, not once for every summed point") {
    const Array w = Array::from<double>({1, 2, 3, 4}, {2, 2});
    const Array y =
        result("y[o] := W[o,k]*x[k] + b[o]", {{"W", w}, {"x", f64({1, 1})}, {"b", f64({10, 20})}});
    CHECK(values(y) == std::vector<double>{13, 27});
}

TEST_CASE("strided views are read through their strides") {
    const Array a = Array::from<double>({1, 2, 3, 4, 5, 6}, {2, 3});
    CHECK(values(result("y[i] := A[i,j]", {{"A", a.transpose({1, 0})}})) ==
          std::vector<double>{5, 7, 9});
}

TEST_CASE("f32 terms are rounded at every node") {
    const Array y = result("y[i] := a[i] + b[i] - b[i]", {{"a", f32({1e-8F})}, {"b", f32({1})}});
    CHECK(y.dtype() == DType::f32);
    CHECK(values(y) == std::vector<double>{0});
}

TEST_CASE("sums lose nothing to the order of their terms") {
    CHECK(values(result("s := sum[i](x[i])", {{"x", f64({1e16, 1, 1, -1e16})}})) ==
          std::vector<double>{2});
}

TEST_CASE("sums honour infinities") {
    CHECK(result("s := sum[i](x[i])", {{"x", f64({1, infinity, 2})}}).item() == infinity);
    CHECK(std::isnan(result("s := sum[i](x[i])", {{"x", f64({infinity, -infinity})}}).item()));
}

TEST_CASE("reductions over nothing give the identity") {
    const Array none = Array::zeros(DType::f64, {0});
    CHECK(result("s := sum[i](x[i])", {{"x", none}}).item() == 0);
    CHECK(result("s := prod[i](x[i])", {{"x", none}}).item() == 1);
    CHECK(result("s := max[i](x[i])", {{"x", none}}).item() == -infinity);
    CHECK(result("s := min[i](x[i])", {{"x", none}}).item() == infinity);
}

TEST_CASE("max and min propagate NaN") {
    CHECK(std::isnan(result("s := max[i](x[i])", {{"x", f64({1, nan_value, 2})}}).item()));
    CHECK(std::isnan(result("s := min[i](x[i])", {{"x", f64({1, nan_value, 2})}}).item()));
    CHECK(std::isnan(result("s[i] := max(x[i], 3)", {{"x", f64({nan_value})}}).item()));
}

TEST_CASE("a condition skips points") {
    CHECK(values(result("y[i] := sum[k | k <= i](x[k])*z[i]",
                        {{"x", f64({1, 2, 4})}, {"z", f64({1, 1, 1})}})) ==
          std::vector<double>{1, 3, 7});
}

TEST_CASE("conditions that give reduced indices their values leave the other points unvisited") {
    // 10^12 points to go over otherwise.
    const std::string where = " where t in 0:3, i in 0:10000, j in 0:10000, k in 0:10000";
    CHECK(values(result("y[t] := sum[i,j,k | i < 2 && t == j && j + i == k](a[t]*(k+1))" + where,
                        {{"a", f64({1, 10, 100})}})) == std::vector<double>{3, 50, 700});
    CHECK(values(result("y[t] := sum[i,j,k | t > 1 && i < 1 && j < 2 && k < t](a[t])" + where,
                        {{"a", f64({1, 1, 1})}})) == std::vector<double>{0, 0, 4});
}

TEST_CASE("elements that a new array does not name are 0") {
    CHECK(values(result("D[i,i] := a[i]", {{"a", f64({3, 4})}})) ==
          std::vector<double>{3, 0, 0, 4});
}

TEST_CASE("elements that an update does not name keep their value") {
    const Array target = f64({1, 2, 3, 4});
    const Arguments arguments{{"B", target}, {"x", f64({10, 20})}};
    CHECK(values(result("B[i+1] += x[i]", arguments)) == std::vector<double>{1, 12, 23, 4});
    CHECK(values(result("B[i+1] *= x[i]", arguments)) == std::vector<double>{1, 20, 60, 4});
    CHECK(values(result("B[2*i] = x[i]", arguments)) == std::vector<double>{10, 2, 20, 4});
    CHECK(values(target) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("an addition to one element from several points adds them all") {
    CHECK(values(result("B[i+k] += x[i]*w[k]",
                        {{"B", f64({0, 0, 0})}, {"x", f64({1, 2})}, {"w", f64({1, 10})}})) ==
          std::vector<double>{1, 12, 20});
}

TEST_CASE("index values are integers in arithmetic and adopt the type they meet") {
    const Array y = result("y[i] := a[i]*(i + 1)", {{"a", f32({1.5F, 1.5F})}});
    CHECK(y.dtype() == DType::f32);
    CHECK(values(y) == std::vector<double>{1.5, 3});
}

TEST_CASE("softmax of large values does not overflow") {
    const Array y = result("S[j] := exp(x[j] - max[k](x[k]))/sum[k](exp(x[k] - max[l](x[l])))",
                           {{"x", f64({1000, 1000})}});
    CHECK(values(y) == std::vector<double>{0.5, 0.5});
}

TEST_CASE("0^0 is 1, remainders have the sign of the divisor") {
    CHECK(values(result("y[i] := x[i]^0", {{"x", f64({0, 2})}})) == std::vector<double>{1, 1});
    CHECK(values(result("y[i] := x[i] % 3", {{"x", f64({-1, 4})}})) == std::vector<double>{2, 1});
    CHECK(values(result("y[i] := x[i] // 3", {{"x", f64({-1, 4})}})) == std::vector<double>{-1, 1});
}

TEST_CASE("the bound of a sum grows with the magnitudes of its terms") {
    const auto small = estimate("s := sum[i](x[i])", {{"x", f32({1, -1, 1, -1})}});
    const auto large = estimate("s := sum[i](x[i])", {{"x", f32({1e4F, -1e4F, 1e4F, -1e4F})}});
    CHECK(small.bound.item() > 4 * 0x1p-24);
    CHECK(small.bound.item() < 40 * 0x1p-24);
    CHECK(large.bound.item() > 1000 * small.bound.item());
}

TEST_CASE("exact arithmetic has a small bound, cancellation a large one") {
    const auto exact = estimate("y[i] := x[i] > 0 ? x[i] : 0", {{"x", f32({3})}});
    CHECK(exact.bound.item() == 0);
    const auto cancelled = estimate("y[i] := sin(x[i]) + 1e6 - 1e6", {{"x", f32({0.3F})}});
    CHECK(cancelled.bound.item() > 0.01);
}

TEST_CASE("a comparison too close to call makes the choice uncertain") {
    const Arguments equal{{"x", f32({0.7F})}, {"y", f32({0.7F})}};
    const auto doubtful = estimate("z[i] := sin(x[i])*3 > 3*sin(y[i]) ? 1.0 : 0.0", equal);
    CHECK(doubtful.bound.item() == 1);
    const auto clear = estimate("z[i] := sin(x[i]) > y[i] ? 1.0 : 0.0", equal);
    CHECK(clear.bound.item() == 0);
}

TEST_CASE("a condition too close to call makes a reduction unknown") {
    const auto doubtful =
        estimate("s := sum[i | sin(x[i])^2 + cos(x[i])^2 > 1](x[i])", {{"x", f32({0.4F, 0.7F})}});
    CHECK(doubtful.bound.item() == infinity);
}

TEST_CASE("any and a maximum of truth values are false where nothing holds") {
    CHECK(values(result("k := any[i](x[i] > 100)", {{"x", f64({1, 2})}})) ==
          std::vector<double>{0});
    CHECK(values(result("k := max[i](x[i] > 100)", {{"x", f64({1, 2})}})) ==
          std::vector<double>{0});
    CHECK(values(result("k := all[i](x[i] > 0)", {{"x", f64({1, 2})}})) == std::vector<double>{1});
}
