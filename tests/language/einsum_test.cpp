// tests/language/einsum_test.cpp – einsum against numpy, whose answers are in
// tests/golden/einsum.txt
#include "runtime/einsum.h"

#include <complex>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

Shape shape_of(const std::string& text) {
    Shape shape;
    if (text.empty()) return shape;
    for (const std::string& extent : split(text, ',')) shape.push_back(std::stoll(extent));
    return shape;
}

/// The small whole numbers that tests/language/einsum_numpy.py gives numpy.
Array operand(std::int64_t number, const Shape& shape, DType dtype) {
    Array values(DType::f64, shape);
    const auto all = values.span<double>();
    for (std::size_t n = 0; n < all.size(); ++n) {
        const auto value =
            static_cast<double>((static_cast<std::int64_t>(n) * (number + 2) + number) % 7 - 3);
        const bool is_unsigned = is_integer(dtype) && !is_signed(dtype);
        all[n] = dtype == DType::boolean ? double(value > 0)
                 : is_unsigned           ? std::abs(value)
                                         : value;
    }
    if (!is_complex(dtype)) return values.to(dtype);
    Array complex(DType::c128, shape);
    const auto parts = complex.span<std::complex<double>>();
    for (std::size_t n = 0; n < all.size(); ++n)
        parts[n] = {all[n],
                    static_cast<double>((3 * static_cast<std::int64_t>(n) + number) % 5 - 2)};
    return complex.to(dtype);
}

/// Those of complex numbers as two.
std::vector<double> numbers(const Array& array) {
    if (!is_complex(array.dtype())) {
        const Array values = array.to(DType::f64);
        const auto all = values.span<const double>();
        return {all.begin(), all.end()};
    }
    const Array values = array.to(DType::c128);
    std::vector<double> all;
    for (const std::complex<double>& value : values.span<const std::complex<double>>()) {
        all.push_back(value.real());
        all.push_back(value.imag());
    }
    return all;
}

/// A line of what numpy says: `text|types|shapes|type shape|elements`, or `error` for the last two.
struct Case {
    std::string text;
    std::vector<DType> dtypes;
    std::vector<Shape> shapes;
    bool is_error = false;
    std::string result;  ///< type and shape
    std::vector<double> elements;
};

std::vector<Case> cases() {
    const char* const root = std::getenv("RICCI_SOURCE_DIR");
    REQUIRE(root != nullptr);
    std::ifstream file(std::string(root) + "/tests/golden/einsum.txt");
    REQUIRE(file.good());
    std::vector<Case> all;
    for (std::string line; std::getline(file, line);) {
        const std::vector<std::string> parts = split(line, '|');
        Case each;
        each.text = parts.at(0);
        for (const std::string& name : split(parts.at(1), ','))
            each.dtypes.push_back(dtype_from_name(name).value());
        for (const std::string& shape : split(parts.at(2), ';'))
            each.shapes.push_back(shape_of(shape));
        each.is_error = parts.at(3) == "error";
        if (!each.is_error) {
            each.result = parts.at(3);
            std::istringstream elements(parts.at(4));
            for (double element = 0; elements >> element;) each.elements.push_back(element);
        }
        all.push_back(std::move(each));
    }
    return all;
}

std::string described(const Array& array) {
    std::vector<std::string> extents;
    for (const std::int64_t extent : array.shape()) extents.push_back(std::to_string(extent));
    return format("{} {}", name(array.dtype()), join(extents, ","));
}

void check_case(const Case& each) {
    std::vector<Array> operands;
    for (std::size_t n = 0; n < each.shapes.size(); ++n)
        operands.push_back(operand(std::int64_t(n), each.shapes[n], each.dtypes[n]));
    for (const Device device : {Device::cpu, Device::reference}) {
        Array result;
        const std::string error = error_text([&] { result = einsum(each.text, operands, device); });
        CAPTURE(name(device));
        CAPTURE(error);
        REQUIRE((error != "no error") == each.is_error);
        if (each.is_error) continue;
        CHECK(described(result) == each.result);
        CHECK(numbers(result) == each.elements);
    }
}

TEST_CASE("einsum gives what numpy gives, and refuses what numpy refuses") {
    const std::vector<Case> all = cases();
    CHECK(all.size() > 270);
    for (const Case& each : all) {
        CAPTURE(each.text);
        const std::string types = [&] {
            std::vector<std::string> names;
            for (const DType dtype : each.dtypes) names.emplace_back(name(dtype));
            return join(names, ",");
        }();
        CAPTURE(types);
        check_case(each);
    }
}

TEST_CASE("einsum takes arrays one by one") {
    const Array A = Array::arange(DType::f32, {2, 2});
    CHECK(str(einsum("ij,jk->ik", A, A)) == "[[ 2,  3],\n [ 6, 11]]");
    CHECK(str(einsum("ii", A)) == "3");
    CHECK(einsum("ij,jk->ik", A, A).dtype() == DType::f32);
}

TEST_CASE("an error of einsum shows its place in the text") {
    const Array A = Array::arange(DType::f32, {2, 3});
    CHECK(error_text([&] { (void)einsum("ij.k", A); }) ==
          "syntax: a `.` is no part of `...`\n"
          "  | ij.k\n"
          "  |   ^\n"
          "  = hint: `...` stands for the dimensions without a letter");
    CHECK(error_text([&] { (void)einsum("ii", A); }) ==
          "shape: the diagonal of `i` has two extents, 2 and 3\n"
          "  | ii\n"
          "  | ^~\n"
          "  | |3 here: dimension 1 of operand 0 [2, 3]\n"
          "  | 2 here: dimension 0 of operand 0 [2, 3]");
}

}  // namespace
}  // namespace ricci::tests
