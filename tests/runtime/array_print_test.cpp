// tests/runtime/array_print_test.cpp – arrays as text
#include <limits>

#include <doctest/doctest.h>

#include "runtime/array.h"

namespace ricci {
namespace {

TEST_CASE("a scalar prints as its number") {
    CHECK(str(Array(2.5)) == "2.5");
    CHECK(str(Array(-3)) == "-3");
    CHECK(str(Array()) == "(no array)");
}

TEST_CASE("rows are aligned") {
    CHECK(str(Array::from<float>({1, -2.5F, 100, 0.001F}, {2, 2})) ==
          "[[    1,  -2.5],\n"
          " [  100, 0.001]]");
}

TEST_CASE("matrices of a rank-3 array are set apart by a blank line") {
    CHECK(str(Array::arange(DType::i32, {2, 1, 2})) ==
          "[[[0, 1]],\n"
          "\n"
          " [[2, 3]]]");
}

TEST_CASE("bool, NaN and infinity print as words") {
    CHECK(str(Array::from<bool>({true, false}, {2})) == "[ true, false]");
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(str(Array::from<double>({inf, -inf}, {2})) == "[ inf, -inf]");
}

TEST_CASE("a large array shows three elements at each end of a dimension") {
    CHECK(str(Array::arange(DType::i64, {2000})) == "[   0,    1,    2, ..., 1997, 1998, 1999]");
    CHECK(str(Array::arange(DType::i64, {7, 200})) ==
          "[[   0,    1,    2, ...,  197,  198,  199],\n"
          " [ 200,  201,  202, ...,  397,  398,  399],\n"
          " [ 400,  401,  402, ...,  597,  598,  599],\n"
          " ...,\n"
          " [ 800,  801,  802, ...,  997,  998,  999],\n"
          " [1000, 1001, 1002, ..., 1197, 1198, 1199],\n"
          " [1200, 1201, 1202, ..., 1397, 1398, 1399]]");
}

TEST_CASE("a long row is broken into lines") {
    CHECK(
        str(Array::arange(DType::i64, {30})) ==
        "[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, "
        "22,\n"
        " 23, 24, 25, 26, 27, 28, 29]");
}

TEST_CASE("empty arrays print as brackets") {
    CHECK(str(Array::zeros(DType::f32, {0})) == "[]");
    CHECK(str(Array::zeros(DType::f32, {2, 0})) == "[[],\n []]");
}

}  // namespace
}  // namespace ricci
