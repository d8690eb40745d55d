// tests/property/keyed_test.cpp – updates whose places are data: keys in any order, any threads
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/text.h"
#include "runtime/function.h"
#include "runtime/parallel.h"
#include "tests/support/error_text.h"

namespace ricci::tests {
namespace {

/// Enough points for several parts (codegen/keyed_parts.h), and one that parts do not divide.
constexpr std::int64_t points = (1 << 17) + 13;

enum class Keys : std::uint8_t { random, sorted, equal, few, runs };

Array keys(Keys kind, std::int64_t count, std::int64_t below) {
    Array J = Array::randint(DType::i32, {count}, 0, kind == Keys::few ? below / 2 : below, 7);
    const auto values = J.span<std::int32_t>();
    if (kind == Keys::sorted) std::ranges::sort(values);
    if (kind == Keys::runs)  // of 1 to 30
        for (std::size_t i = 1; i < values.size(); ++i)
            if (values[i] % 30 != 0) values[i] = values[i - 1];
    if (kind == Keys::equal) std::ranges::fill(values, std::int32_t(below - 1));
    return J;
}

/// The bits of a result on one thread, after those on two and three were compared with it.
Array same_bits(const Function& f, const Array& h, const Array& J,
                const std::optional<Array>& x = std::nullopt) {
    const int before = num_threads();
    std::vector<Array> results;
    for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        results.push_back(x ? f(h.copy(), J, *x) : f(h.copy(), J));
        CHECK(std::memcmp(results[0].data(), results.back().data(),
                          std::size_t(results[0].size()) * size_bytes(results[0].dtype())) == 0);
    }
    set_num_threads(before);
    return results[0];
}

}  // namespace

TEST_CASE("constants that many updates add are counted, and rounded once") {
    const std::int64_t size = 100;
    for (const Keys kind : {Keys::random, Keys::equal, Keys::few}) {
        CAPTURE(int(kind));
        const Array J = keys(kind, points, size);
        const Array h = Array::zeros(DType::f32, {size});
        std::vector<std::int64_t> counts(size);
        for (const std::int32_t key : J.span<std::int32_t>()) ++counts[std::size_t(key)];
        for (const auto& [term, value] :
             {std::pair("1", 1.0F), std::pair("0.1", 0.1F), std::pair("(-3)", -3.0F)}) {
            const Array counted = same_bits(compile(format("h[J[i]] += {}", term)), h, J);
            for (std::size_t t = 0; t < std::size_t(size); ++t) {
                const double exact = double(value) * double(counts[t]);
                CHECK(std::abs(double(counted.span<float>()[t]) - exact) <=
                      0x1p-22 * std::abs(exact));
            }
        }
    }
    // Infinity is added where a key is, and nowhere else.
    const Array J = keys(Keys::equal, points, size);
    const Array h = Array::zeros(DType::f32, {size});
    const Array sums = same_bits(compile("h[J[i]] += 1e60"), h, J);
    CHECK(sums.span<float>()[0] == 0);
    CHECK(std::isinf(sums.span<float>()[size - 1]));
}

TEST_CASE("many updates of few elements are right and have the same bits on any threads") {
    const std::int64_t size = 100;
    for (const Keys kind : {Keys::random, Keys::sorted, Keys::equal, Keys::few, Keys::runs}) {
        CAPTURE(int(kind));
        const Array J = keys(kind, points, size);
        const Array x = Array::randn(DType::f32, {points}, 3);
        const Array h = Array::randn(DType::f32, {size}, 4);
        std::vector<double> sum(h.span<float>().begin(), h.span<float>().end());
        std::vector<double> size_of(size);
        std::vector<float> largest(h.span<float>().begin(), h.span<float>().end());
        for (std::size_t i = 0; i < std::size_t(points); ++i) {
            const auto key = std::size_t(J.span<std::int32_t>()[i]);
            const float value = x.span<float>()[i];
            sum[key] += value;
            size_of[key] += std::abs(value);
            largest[key] = std::max(largest[key], value);
        }
        const Array sums = same_bits(compile("h[J[i]] += x[i]"), h, J, x);
        const Array most = same_bits(compile("h[J[i]] max= x[i]"), h, J, x);
        for (std::size_t t = 0; t < std::size_t(size); ++t) {
            const double bound = 1e-4 * (1 + size_of[t]);
            CHECK(std::abs(double(sums.span<float>()[t]) - sum[t]) <= bound);
            CHECK(most.span<float>()[t] == largest[t]);
        }
    }
}

TEST_CASE("many short rows that update few are right and have the same bits on any threads") {
    const std::int64_t size = 50;
    for (const std::int64_t columns : {2, 3, 4})
        for (const Keys kind : {Keys::random, Keys::sorted, Keys::equal, Keys::runs}) {
            CAPTURE(int(kind));
            const Array J = keys(kind, points, size);
            const Array x = Array::randn(DType::f32, {points, columns}, 3);
            const Array sums = same_bits(compile("h[J[i],c] += x[i,c]"),
                                         Array::zeros(DType::f32, {size, columns}), J, x);
            std::vector<double> sum(std::size_t(size * columns));
            std::vector<double> size_of(sum.size());
            for (std::size_t i = 0; i < std::size_t(points * columns); ++i) {
                const auto point = i / std::size_t(columns);
                const auto row = std::size_t(J.span<std::int32_t>()[point]);
                const auto at = row * std::size_t(columns) + i % std::size_t(columns);
                sum[at] += x.span<float>()[i];
                size_of[at] += std::abs(x.span<float>()[i]);
            }
            for (std::size_t t = 0; t < sum.size(); ++t)
                CHECK(std::abs(double(sums.span<float>()[t]) - sum[t]) <= 1e-4 * (1 + size_of[t]));
        }
}

TEST_CASE("integers that are counted by key are exact, and products and rows too") {
    const Array J = keys(Keys::random, points, 10);
    const Array ones = Array::full(DType::i64, {points}, 1);
    const Array count =
        same_bits(compile("h[J[i]] += x[i]"), Array::zeros(DType::i64, {10}), J, ones);
    std::vector<std::int64_t> expected(10);
    for (const std::int32_t key : J.span<std::int32_t>()) ++expected[std::size_t(key)];
    CHECK(std::ranges::equal(count.span<std::int64_t>(), expected));

    const Array signs = Array::full(DType::f64, {points}, -1);
    const Array product =
        same_bits(compile("h[J[i]] *= x[i]"), Array::full(DType::f64, {10}, 1), J, signs);
    for (std::size_t t = 0; t < 10; ++t)
        CHECK(product.span<double>()[t] == (expected[t] % 2 == 0 ? 1.0 : -1.0));

    // Rows of three, points of two indices.
    const std::int64_t n = 1 << 14;
    const Array K = Array::randint(DType::i32, {n}, 0, 10, 5);
    const Array rows = Array::full(DType::f32, {n, 7, 3}, 1);
    const Array H =
        same_bits(compile("h[J[i],k] += x[i,m,k]"), Array::zeros(DType::f32, {10, 3}), K, rows);
    std::vector<float> counted(30);
    for (const std::int32_t key : K.span<std::int32_t>())
        for (std::size_t k = 0; k < 3; ++k) counted[std::size_t(key) * 3 + k] += 7;
    CHECK(std::ranges::equal(H.span<float>(), counted));

    // Points of three indices, of which the first has one value.
    const Array image = Array::randint(DType::i32, {1, 400, 400}, 0, 10, 6);
    const Array pixels =
        same_bits(compile("h[J[n,y,x]] += 1"), Array::zeros(DType::f32, {10}), image);
    std::vector<float> of_value(10);
    for (const std::int32_t key : image.span<std::int32_t>()) ++of_value[std::size_t(key)];
    CHECK(std::ranges::equal(pixels.span<float>(), of_value));
}

TEST_CASE("a key outside is an error however many the updates, and nothing is written") {
    const Function f = compile("h[J[i]] += x[i]");
    const Array x = Array::full(DType::f32, {points}, 1);
    // Ends of 16 parts, then what is left over one by one.
    const std::int64_t part = points / 16;
    for (const std::int64_t place :
         {std::int64_t{0}, part - 1, part, points / 2, 16 * part - 1, points - 1})
        for (const std::int32_t key : {-1, 100, std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int32_t>::min()}) {
            const Array J = keys(Keys::random, points, 100);
            J.span<std::int32_t>()[std::size_t(place)] = key;
            const Array h = Array::full(DType::f32, {100}, 5);
            const std::string text = error_text([&] { (void)f(h, J, x); });
            CHECK(text.find(format("J[{}] is {}", place, key)) != std::string::npos);
            CHECK(std::ranges::all_of(h.span<float>(), [](float value) { return value == 5; }));
        }
}

TEST_CASE("keys so large that a subscript leaves 64 bits are outside, too") {
    const Function f = compile("h[2*J[i]] += 1");
    const Function reference = compile("h[2*J[i]] += 1", {}, Device::reference);
    for (const std::int64_t key : {std::int64_t{1} << 63, (std::int64_t{1} << 62) + 1}) {
        const Array J = Array::zeros(DType::i64, {points});
        J.span<std::int64_t>()[points / 3] = key;
        const Array h = Array::full(DType::f32, {100}, 5);
        const std::string text = error_text([&] { (void)f(h, J); });
        CHECK(text == error_text([&] { (void)reference(h, J); }));
        CHECK(text != "no error");
        CHECK(std::ranges::all_of(h.span<float>(), [](float value) { return value == 5; }));
    }
}

TEST_CASE("of several keys outside the one that the reference finds is told of") {
    const std::vector<std::string> texts = {"h[J[i]] += x[i]*z[K[i]]",
                                            "h[J[i]] += x[i]; z[K[i]] += 1", "h[J[i]] += z[J[i]]",
                                            "z[K[i]] max= h[J[i]]; h[J[i]] += 1"};
    const Array x = Array::full(DType::f32, {points}, 1);
    for (const std::string& text : texts) {
        CAPTURE(text);
        const Function f = compile(text);
        const Function reference = compile(text, {}, Device::reference);
        using Places = std::pair<std::int64_t, std::int64_t>;
        for (const auto& [of_J, of_K] : {Places{7, -1}, Places{-1, 5}, Places{900, 1000},
                                         Places{points - 1, 3}, Places{60, 60}}) {
            Array J = keys(Keys::random, points, 40);
            Array K = keys(Keys::few, points, 40);
            if (of_J >= 0) J.span<std::int32_t>()[std::size_t(of_J)] = 70;
            if (of_K >= 0) K.span<std::int32_t>()[std::size_t(of_K)] = 50;
            std::map<std::string, Array> named = {{"J", J}, {"K", K}, {"x", x}};
            named.emplace("h", Array::full(DType::f32, {70}, 5));
            named.emplace("z", Array::full(DType::f32, {50}, 5));
            const auto told = [&](const Function& function) {
                Arguments given;
                for (const auto& [name, value] : named)
                    if (text.find(name + "[") != std::string::npos) given.emplace_back(name, value);
                return error_text([&] { (void)function(given); });
            };
            const std::string error = told(f);
            CHECK(error == told(reference));
            if (error == "no error") continue;
            for (const char* name : {"h", "z"})
                CHECK(std::ranges::all_of(named.at(name).span<float>(),
                                          [](float value) { return value == 5; }));
        }
    }
}

TEST_CASE("points whose key is no element count for nothing in a sum by key") {
    const Array J = Array::randint(DType::i32, {points}, -3, 13, 9);
    const Array x = Array::full(DType::f32, {points}, 1);
    const Function f = compile("H[t] := sum[i | t == J[i]](x[i]) where t in 0:10");
    const int before = num_threads();
    std::vector<float> expected(10);
    for (const std::int32_t key : J.span<std::int32_t>())
        if (key >= 0 && key < 10) ++expected[std::size_t(key)];
    for (const int threads : {1, 3}) {
        set_num_threads(threads);
        CHECK(std::ranges::equal(f(J, x).span<float>(), expected));
    }
    set_num_threads(before);
}

TEST_CASE("updates of half types round after each, however many there are") {
    for (const DType dtype : {DType::f16, DType::bf16}) {
        const Array J = Array::zeros(DType::i64, {points});
        const Array x = Array::full(dtype, {points}, 1);
        const Array h = same_bits(compile("h[J[i]] += x[i]"), Array::zeros(dtype, {1}), J, x);
        CHECK(h.item() == (dtype == DType::f16 ? 2048 : 256));
    }
}

TEST_CASE("a floating product of many factors is made in order: a zero comes before infinity") {
    const Array J = Array::zeros(DType::i64, {points});
    const Array x = Array::full(DType::f64, {points}, 100);
    x.span<double>()[3] = 0;
    const Array h = same_bits(compile("h[J[i]] *= x[i]"), Array::full(DType::f64, {1}, 1), J, x);
    CHECK(h.item() == 0);
}

TEST_CASE("padded updates of half types are compiled") {
    for (const DType dtype : {DType::f16, DType::bf16})
        for (const char* update : {"h[pad(J[i],0)] += x[i]", "h[pad(J[i],0)] max= x[i]"}) {
            const Array J = Array::randint(DType::i64, {100}, 0, 5, 3);
            const Array x = Array::full(dtype, {100}, 1);
            const Array zeros = Array::zeros(dtype, {5});
            const Array found = same_bits(compile(update), zeros, J, x);
            CHECK(str(found) == str(compile(update, {}, Device::reference)(zeros.copy(), J, x)));
        }
}

}  // namespace ricci::tests
