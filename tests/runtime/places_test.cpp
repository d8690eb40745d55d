// tests/runtime/places_test.cpp – where the largest and smallest elements stand: ties, NaN, ends
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/function.h"

namespace ricci {
namespace {

/// The first place of the largest element, of NaN if there is one.
template <class T>
std::int64_t place_of_largest(const std::vector<T>& row) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < row.size(); ++k) {
        const bool best_is_number = row[best] == row[best];
        if (best_is_number && !(row[k] <= row[best])) best = k;
    }
    return std::int64_t(best);
}

/// Rows of few different values, of which the first is at home in every row.
template <class T>
void check(std::int64_t columns, const std::vector<T>& values) {
    constexpr std::int64_t rows = 40;
    std::vector<T> elements;
    std::vector<T> transposed(std::size_t(rows * columns));
    std::vector<std::int64_t> expected;
    std::uint64_t state = std::uint64_t(columns) * 977 + values.size();
    for (std::int64_t i = 0; i < rows; ++i) {
        std::vector<T> row;
        for (std::int64_t k = 0; k < columns; ++k) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            // Later rows have fewer values: the last ones only the first.
            const std::uint64_t choices = std::uint64_t(rows - i) * values.size() / rows + 1;
            row.push_back(values[std::size_t((state >> 33) % choices) % values.size()]);
            transposed[std::size_t(k * rows + i)] = row.back();
        }
        expected.push_back(place_of_largest(row));
        elements.insert(elements.end(), row.begin(), row.end());
    }
    CAPTURE(columns);
    CAPTURE(values.size());
    const auto places = [](const Array& result) {
        const auto found = result.span<const std::int64_t>();
        return std::vector<std::int64_t>(found.begin(), found.end());
    };
    static const Function along_rows = compile("y[i] := argmax[k](X[i,k])");
    static const Function along_columns = compile("y[i] := argmax[k](X[k,i])");
    CHECK(places(along_rows(Array::from<T>(elements, {rows, columns}))) == expected);
    CHECK(places(along_columns(Array::from<T>(transposed, {columns, rows}))) == expected);
}

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("of equal largest elements the first is found, and NaN before numbers") {
    for (const std::int64_t columns :
         {1, 2, 7, 15, 16, 17, 31, 32, 33, 40, 47, 48, 64, 65, 80, 100, 112, 257}) {
        check<float>(columns, {0, 1});
        check<float>(columns, {-infinity, 3, -1, infinity});
        check<float>(columns, {-0.0F, 0.0F, -2, NAN});
        check<double>(columns, {-infinity, 2, NAN});
        check<std::int8_t>(columns, {-128, 127, 3});
        check<std::uint8_t>(columns, {0, 255, 128});
        check<std::int64_t>(columns, {std::numeric_limits<std::int64_t>::min(), 0, 5});
    }
}

TEST_CASE("products of three factors are as large as the maximum of them, in whatever kernel") {
    // They must not be grouped otherwise there: gradients of maxima look for equal values.
    const Function places = compile(
        "M[i,j,m,a] := max[k](A[k,i,a]*B[j,k,a]*C[m,k,a])\n"
        "H[k,i,a] := sum[j,m](A[k,i,a]*B[j,k,a]*C[m,k,a] == M[i,j,m,a] ? 1 : 0)\n"
        "J[j,k,a] := sum[i,m](A[k,i,a]*B[j,k,a]*C[m,k,a] == M[i,j,m,a] ? 1 : 0)\n"
        "h := H[k,i,a]\n"
        "n := J[j,k,a]");
    const Array a = Array::randn(DType::f64, {2, 12, 3}, 1);
    const Array b = Array::randn(DType::f64, {8, 2, 3}, 2);
    const Array c = Array::randn(DType::f64, {16, 2, 3}, 3);
    const std::vector<Array> results = places.call({{"A", a}, {"B", b}, {"C", c}}, {"h", "n"});
    CHECK(results[0].item() == 4608);
    CHECK(results[1].item() == 4608);
}

}  // namespace ricci
