// tests/base/shape_test.cpp – counts, strides and their limits
#include "base/shape.h"

#include <string>

#include <doctest/doctest.h>

#include "base/error.h"

namespace ricci {
namespace {

std::string count_error(const Shape& shape) {
    try {
        return std::to_string(element_count(shape));
    } catch (const Error& error) {
        return error.what();
    }
}

TEST_CASE("a scalar has one element") { CHECK(element_count({}) == 1); }

TEST_CASE("the count is the product of the extents") { CHECK(element_count({8, 32, 3}) == 768); }

TEST_CASE("an empty array has no elements however long its other dimensions are") {
    CHECK(element_count({max_elements, max_elements, 0}) == 0);
}

TEST_CASE("the largest array is allowed and one element more is not") {
    CHECK(element_count({max_elements, 1}) == max_elements);
    CHECK(count_error({max_elements + 1}) ==
          "limit: an array of shape [281474976710657] has more than 281474976710656 (2^48) "
          "elements\n"
          "  = hint: use smaller extents, or sum over one of the dimensions");
    CHECK(count_error({INT64_MAX, INT64_MAX}) ==
          "limit: an array of shape [9223372036854775807, 9223372036854775807] has more than "
          "281474976710656 (2^48) elements\n"
          "  = hint: use smaller extents, or sum over one of the dimensions");
}

TEST_CASE("a negative extent is an error") {
    CHECK(count_error({3, -1}) == "limit: extent -1 of shape [3, -1] is negative");
}

TEST_CASE("row-major strides step fastest in the last dimension") {
    CHECK(row_major_strides({2, 3, 4}) == Strides{12, 4, 1});
    CHECK(row_major_strides({}) == Strides{});
}

TEST_CASE("shapes print as in messages") {
    CHECK(str(Shape{8, 32}) == "[8, 32]");
    CHECK(str(Shape{}) == "[]");
}

}  // namespace
}  // namespace ricci
