// tests/runtime/array_test.cpp – making, viewing and converting arrays
#include "runtime/array.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_text.h"

namespace ricci {
namespace {

using tests::error_text;

TEST_CASE("an array from values is row-major and 64-byte aligned") {
    const Array a = Array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
    CHECK(a.dtype() == DType::f32);
    CHECK(a.strides() == Strides{3, 1});
    CHECK(a.at({1, 0}) == 4);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
}

TEST_CASE("values that do not fill the shape are an error") {
    CHECK(error_text([] { (void)Array::from<float>({1, 2}, {2, 3}); }) ==
          "shape: 2 values for a shape [2, 3] of 6 elements");
}

TEST_CASE("copies of a handle share memory, copy() does not") {
    const Array a = Array::zeros(DType::f64, {2});
    const Array same = a;
    const Array other = a.copy();
    a.span<double>()[0] = 7;
    CHECK(same.at({0}) == 7);
    CHECK(other.at({0}) == 0);
}

TEST_CASE("numbers are weak scalars") {
    CHECK(Array(2.5).is_weak());
    CHECK(Array(2.5).dtype() == DType::f64);
    CHECK(Array(3).dtype() == DType::i64);
    CHECK(Array(3).item() == 3);
    CHECK_FALSE(Array(3).to(DType::f32).is_weak());
}

TEST_CASE("a slice shares memory and counts from its own start") {
    const Array a = Array::arange(DType::f32, {4, 3});
    const Array rows = a.slice(0, 1, 3);
    CHECK(rows.shape() == Shape{2, 3});
    CHECK(rows.at({0, 2}) == 5);
    CHECK(rows.is_contiguous());
    CHECK_FALSE(a.slice(1, 0, 2).is_contiguous());
    CHECK(a.slice(-1, 2, 2).size() == 0);
    CHECK(error_text([&] { (void)a.slice(0, 3, 5); }) ==
          "range: a slice 3:5 of dimension 0 of an array [4, 3]");
}

TEST_CASE("a transposed view reads the same elements, and its copy is contiguous") {
    const Array t = Array::arange(DType::f64, {2, 3}).transpose({1, 0});
    CHECK(t.shape() == Shape{3, 2});
    CHECK(t.at({2, 1}) == 5);
    CHECK_FALSE(t.is_contiguous());
    const Array c = t.contiguous();
    CHECK(c.is_contiguous());
    CHECK(c.span<double>()[1] == 3);
    CHECK(error_text([&] { (void)t.transpose({0, 0}); }) ==
          "range: dimension 0 stands twice in an order of dimensions");
}

TEST_CASE("a reshape keeps the row-major order") {
    const Array a = Array::arange(DType::i32, {2, 6});
    CHECK(a.reshape({3, 4}).at({2, 1}) == 9);
    CHECK(error_text([&] { (void)a.reshape({5}); }) ==
          "shape: an array [2, 6] of 12 elements as [5] of 5");
}

TEST_CASE("a view of user memory writes through, with strides") {
    double memory[6] = {0, 1, 2, 3, 4, 5};
    const Array column = Array::view(memory, {2}, {3});
    CHECK(column.at({1}) == 3);
    memory[3] = 30;
    CHECK(column.at({1}) == 30);
    CHECK(error_text([&] { (void)Array::view(memory, {2}, {1, 1}); }) ==
          "shape: 2 strides for a view of rank 1");
}

TEST_CASE("conversion to integers saturates and NaN becomes 0") {
    const double inf = std::numeric_limits<double>::infinity();
    const Array a = Array::from<double>({1e9, -1e9, std::nan(""), -1.9, inf}, {5});
    const Array b = a.to(DType::i8);
    CHECK(b.at({0}) == 127);
    CHECK(b.at({1}) == -128);
    CHECK(b.at({2}) == 0);
    CHECK(b.at({3}) == -1);
    CHECK(a.to(DType::u64).span<std::uint64_t>()[4] == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("an element outside the array is an error") {
    const Array a = Array::zeros(DType::f32, {2, 3});
    CHECK(error_text([&] { (void)a.at({0, 3}); }) == "range: element [0, 3] of an array [2, 3]");
    CHECK(error_text([&] { (void)a.at({0}); }) == "range: element [0] of an array [2, 3]");
    CHECK(error_text([&] { (void)a.extent(2); }) ==
          "range: dimension 2 of an array [2, 3] of rank 2");
    CHECK(a.extent(-1) == 3);
}

TEST_CASE("a span of another type is an error that names the conversion") {
    const Array a = Array::zeros(DType::f32, {2});
    CHECK(error_text([&] { (void)a.span<double>(); }) ==
          "type: elements of type f32 are read as f64\n"
          "  = hint: use span of f32, or convert with to(DType::f64)");
}

TEST_CASE("an array larger than memory is an error, not a crash") {
    CHECK(error_text([] {
              Array(DType::f64, {1LL << 24, 1LL << 23});
          }).starts_with("device: no memory for"));
    CHECK(error_text([] { Array(DType::f64, {1LL << 40, 1LL << 40}); }).starts_with("limit: "));
}

TEST_CASE("arrays of users have at most 16 dimensions, their views too") {
    const Shape shape(17, 1);
    const std::string expected = "limit: an array of rank 17, the limit is 16";
    CHECK(error_text([&] { (void)Array(DType::f32, shape); }) == expected);
    float number = 0;
    CHECK(error_text([&] { (void)Array::view(&number, shape); }) == expected);
    CHECK(Array(DType::c64, Shape(16, 1)).imag().rank() == 16);
}

TEST_CASE("the parts of complex arrays are views of them") {
    using C = std::complex<float>;
    Array z = Array::from<C>({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}}, {2, 3});
    CHECK(std::ranges::equal(z.real().copy().span<const float>(),
                             std::vector<float>{1, 3, 5, 7, 9, 11}));
    const Array imaginary = z.transpose({1, 0}).slice(0, 1, 3).imag();
    CHECK(imaginary.dtype() == DType::f32);
    CHECK(imaginary.strides() == Strides{2, 6});
    CHECK(imaginary.at({0, 1}) == 10);
    z.span<C>()[4] = {0, -1};
    CHECK(imaginary.at({0, 1}) == -1);
    CHECK(Array(DType::c128, {0, 3}).imag().shape() == Shape{0, 3});
    CHECK(error_text([] { (void)Array(DType::f32, {2}).real(); }) ==
          "type: a part of the complex numbers of an array of f32");
}

TEST_CASE("numbers side by side are viewed as complex ones") {
    using C = std::complex<double>;
    const Array pairs = Array::from<double>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
    const Array z = pairs.slice(1, 1, 2).view_as_complex();
    CHECK(z.dtype() == DType::c128);
    CHECK(z.shape() == Shape{2, 1});
    CHECK(z.strides() == Strides{2, 1});
    CHECK(z.copy().span<const C>()[1] == C(7, 8));
    CHECK(Array::from<float>({1, 2}, {2}).view_as_complex().shape() == Shape{});
    CHECK(error_text([] { (void)Array(DType::i32, {2}).view_as_complex(); }) ==
          "type: an array of i32 viewed as complex\n"
          "  = hint: complex numbers are pairs of f32 or f64");
    CHECK(error_text([] { (void)Array(DType::f32, {2, 3}).view_as_complex(); }) ==
          "shape: an array [2, 3] with strides [3, 1] viewed as complex\n"
          "  = hint: the last dimension must be 2 numbers side by side, all others an even stride "
          "apart");
    CHECK_THROWS_AS((void)Array(DType::f32, {2, 3}).slice(1, 0, 2).view_as_complex(), Error);
    CHECK_THROWS_AS((void)Array(DType::f32, {2, 2}).transpose({1, 0}).view_as_complex(), Error);
    CHECK_THROWS_AS((void)Array(DType::f32, {}).view_as_complex(), Error);
}

TEST_CASE("complex elements are no single numbers") {
    const Array complex(DType::c64, {2});
    CHECK(error_text([&] { (void)complex.at({0}); }) ==
          "type: a number of type c64 has two parts\n"
          "  = hint: read its elements as std::complex, as in span<const std::complex<float>>()");
}

}  // namespace
}  // namespace ricci
