// tests/grad/ties_test.cpp – where the gradient of equal largest and smallest values goes
#include "grad/ties.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "base/text.h"
#include "grad/gradient.h"
#include "grad/jvp.h"
#include "tests/grad/numeric.h"
#include "tests/support/golden.h"

using namespace ricci;
using namespace ricci::tests;

namespace {

using grad::Ties;

constexpr std::array all_ties = {Ties::first, Ties::even, Ties::zero};
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// What each of the values gets of the cotangent of the largest (or smallest) of them.
std::vector<double> shares(const std::vector<double>& values, Ties ties, bool is_max = true) {
    double best = is_max ? -INFINITY : INFINITY;
    for (const double value : values)
        best = std::isnan(best) || std::isnan(value) ? not_a_number
               : is_max                              ? std::max(best, value)
                                                     : std::min(best, value);
    std::vector<double> result(values.size(), 0);
    std::vector<std::size_t> equal;
    for (std::size_t n = 0; n < values.size(); ++n)
        if (values[n] == best || std::isnan(values[n])) equal.push_back(n);
    if (ties == Ties::first && !equal.empty()) result[equal.front()] = 1;
    for (const std::size_t n : equal) {
        if (ties == Ties::even) result[n] = 1 / double(equal.size());
        if (ties == Ties::zero && equal.size() == 1) result[n] = 1;
    }
    return result;
}

/// Few different integers, so that many are equal; one in ten is NaN where wanted.
Array coarse(const Shape& shape, std::uint64_t seed, bool has_nan = false) {
    std::mt19937_64 random(seed);
    Array array(DType::f64, shape);
    for (double& value : array.span<double>()) {
        value = double(random() % 3);
        if (has_nan && random() % 10 == 0) value = not_a_number;
    }
    return array;
}

Array gradient_of(const std::string& text, const std::string& argument, Ties ties,
                  const Arrays& arrays) {
    const Program gradient = grad::gradient(parse_program(text), argument, {.ties = ties});
    const Array value = evaluate(gradient, arrays).at(gradient.at(gradient.result()).name);
    // What is printed means the same; a given range may not be empty.
    for (const auto& [name, array] : arrays)
        if (array.size() == 0) return value;
    const Program read = parse_program(str(gradient));
    CAPTURE(str(gradient));
    CHECK(str(evaluate(read, arrays).at(read.at(read.result()).name)) == str(value));
    return value;
}

void check_equal(const Array& found, const std::vector<double>& expected) {
    const auto values = found.span<const double>();
    REQUIRE(values.size() == expected.size());
    for (std::size_t n = 0; n < expected.size(); ++n) {
        CAPTURE(n);
        CHECK(values[n] == doctest::Approx(expected[n]));
    }
}

/// Runs a check for each way and for several arrays, with and without NaN.
void for_each_case(const std::function<void(Ties, std::uint64_t, bool)>& check) {
    for (const Ties ties : all_ties)
        for (std::uint64_t seed = 0; seed < 6; ++seed)
            for (const bool has_nan : {false, true}) {
                CAPTURE(grad::name(ties));
                CAPTURE(seed);
                CAPTURE(has_nan);
                check(ties, seed, has_nan);
            }
}

}  // namespace

TEST_CASE("ways of ties have names") {
    for (const Ties ties : all_ties) CHECK(grad::ties_from_name(grad::name(ties)) == ties);
    CHECK(!grad::ties_from_name("odd"));
}

TEST_CASE("equal values share as the option says: the programs") {
    std::string text;
    for (const std::string program : {"m[i] := max[k](A[i,k])", "m := min[j,k](A[j,k]*b[k])",
                                      "P[i] := max[k in 0:3](A[pad(2*i+k-1, 1, value=-inf)])",
                                      "c[i] := max[k | k <= i](A[i,k]^2)", "A[i] max= x[i]",
                                      "A[i] min= x[i,k]", "A[J[i]] max= x[i]"}) {
        text += format("# {}\n", program);
        for (const std::string argument : {"A", "x"}) {
            const Program parsed = parse_program(program);
            if (!parsed.argument(argument)) continue;
            for (const Ties ties : all_ties)
                text += format("# {}\n{}\n", grad::name(ties),
                               str(grad::gradient(parsed, argument, {.ties = ties})));
        }
        text += "\n";
    }
    check_golden("grad/ties", text);
}

TEST_CASE("equal values of a reduction over one and over several indices") {
    for_each_case([](Ties ties, std::uint64_t seed, bool has_nan) {
        const Array a = coarse({4, 5}, seed, has_nan);
        const auto values = a.span<const double>();
        std::vector<double> rows;
        for (std::size_t i = 0; i < 4; ++i)
            for (const double share : shares({values.begin() + std::ptrdiff_t(5 * i),
                                              values.begin() + std::ptrdiff_t(5 * i + 5)},
                                             ties, false))
                rows.push_back(share * double(i + 1));
        const Array d = Array::from<double>({1, 2, 3, 4}, {4});
        check_equal(gradient_of("m[i] := min[k](A[i,k])", "A", ties, {{"A", a}, {"dm", d}}), rows);
        const std::vector<double> all = shares({values.begin(), values.end()}, ties);
        check_equal(gradient_of("m := max[i,k](A[i,k])", "A", ties,
                                {{"A", a}, {"dm", Array::full(DType::f64, {}, 1)}}),
                    all);
    });
}

TEST_CASE("equal values of a restricted reduction of products") {
    for_each_case([](Ties ties, std::uint64_t seed, bool has_nan) {
        const Array a = coarse({4, 4}, seed, has_nan);
        const Array b = coarse({4}, seed + 100);
        const auto x = a.span<const double>();
        const auto y = b.span<const double>();
        std::vector<double> da(16, 0);
        for (std::size_t i = 0; i < 4; ++i) {
            std::vector<double> values;
            for (std::size_t k = 0; k <= i; ++k) values.push_back(x[4 * i + k] * y[k]);
            const std::vector<double> share = shares(values, ties);
            for (std::size_t k = 0; k <= i; ++k) da[4 * i + k] = share[k] * y[k];
        }
        check_equal(gradient_of("m[i] := max[k | k <= i](A[i,k]*b[k])", "A", ties,
                                {{"A", a}, {"b", b}, {"dm", Array::full(DType::f64, {4}, 1)}}),
                    da);
    });
}

TEST_CASE("equal values in pools that overlap, with and without a border") {
    for_each_case([](Ties ties, std::uint64_t seed, bool has_nan) {
        const Array a = coarse({9}, seed, has_nan);
        const auto x = a.span<const double>();
        std::vector<double> inside(9, 0);
        std::vector<double> padded(9, 0);
        for (std::size_t i = 0; i < 4; ++i) {
            const std::vector<double> share = shares({x[2 * i], x[2 * i + 1], x[2 * i + 2]}, ties);
            for (std::size_t k = 0; k < 3; ++k) inside[2 * i + k] += share[k];
        }
        for (std::ptrdiff_t i = 0; i < 5; ++i) {
            std::vector<double> values;
            for (std::ptrdiff_t k = 0; k < 3; ++k) {
                const std::ptrdiff_t at = 2 * i + k - 1;
                values.push_back(at < 0 || at >= 9 ? -INFINITY : x[std::size_t(at)]);
            }
            const std::vector<double> share = shares(values, ties);
            for (std::ptrdiff_t k = 0; k < 3; ++k)
                if (const std::ptrdiff_t at = 2 * i + k - 1; at >= 0 && at < 9)
                    padded[std::size_t(at)] += share[std::size_t(k)];
        }
        check_equal(gradient_of("P[i] := max[k in 0:3](a[2*i+k])", "a", ties,
                                {{"a", a}, {"dP", Array::full(DType::f64, {4}, 1)}}),
                    inside);
        check_equal(gradient_of("P[i] := max[k in 0:3](a[pad(2*i+k-1, 1, value=-inf)])", "a", ties,
                                {{"a", a}, {"dP", Array::full(DType::f64, {5}, 1)}}),
                    padded);
    });
}

TEST_CASE("an update of every element shares between the old and the new value") {
    for_each_case([](Ties ties, std::uint64_t seed, bool has_nan) {
        const Array y = coarse({12}, seed, has_nan);
        const Array x = coarse({12}, seed + 50, has_nan);
        std::vector<double> dy;
        std::vector<double> dx;
        for (std::size_t n = 0; n < 12; ++n) {
            const std::vector<double> share =
                shares({y.span<const double>()[n], x.span<const double>()[n]}, ties);
            dy.push_back(2 * share[0]);
            dx.push_back(2 * share[1]);
        }
        const auto arrays = [&] {
            return Arrays{{"y", y}, {"x", x}, {"dy", Array::full(DType::f64, {12}, 2)}};
        };
        check_equal(gradient_of("y[i] max= x[i]", "y", ties, arrays()), dy);
        check_equal(gradient_of("y[i] max= x[i]", "x", ties, arrays()), dx);
    });
}

TEST_CASE("an update whose points meet shares among the old value and all points") {
    for_each_case([](Ties ties, std::uint64_t seed, bool has_nan) {
        const Array y = coarse({4}, seed, has_nan);
        const Array x = coarse({9}, seed + 50, has_nan);
        // No point updates the last element.
        const Array j = Array::from<std::int64_t>({0, 1, 2, 0, 1, 2, 0, 0, 1}, {9});
        std::vector<double> dy(4, 0);
        std::vector<double> dx(9, 0);
        for (std::size_t t = 0; t < 4; ++t) {
            std::vector<double> values = {y.span<const double>()[t]};
            std::vector<std::size_t> points;
            for (std::size_t i = 0; i < 9; ++i)
                if (j.span<const std::int64_t>()[i] == std::int64_t(t)) {
                    points.push_back(i);
                    values.push_back(x.span<const double>()[i]);
                }
            const std::vector<double> share = shares(values, ties, false);
            dy[t] = share[0];
            for (std::size_t n = 0; n < points.size(); ++n) dx[points[n]] = share[n + 1];
        }
        const auto arrays = [&] {
            return Arrays{{"y", y}, {"x", x}, {"J", j}, {"dy", Array::full(DType::f64, {4}, 1)}};
        };
        check_equal(gradient_of("y[J[i]] min= x[i]", "y", ties, arrays()), dy);
        check_equal(gradient_of("y[J[i]] min= x[i]", "x", ties, arrays()), dx);
    });
}

TEST_CASE("of an update with a reduction the old value and the reduction's share") {
    const Array y = Array::from<double>({2, 1}, {2});
    const Array x = Array::from<double>({2, 0, 2, 1, 1, 1}, {2, 3});
    const auto arrays = [&] {
        return Arrays{{"y", y}, {"x", x}, {"dy", Array::full(DType::f64, {2}, 12)}};
    };
    check_equal(gradient_of("y[i] max= x[i,k]", "y", Ties::even, arrays()), {6, 6});
    check_equal(gradient_of("y[i] max= x[i,k]", "x", Ties::even, arrays()), {3, 0, 3, 2, 2, 2});
    check_equal(gradient_of("y[i] max= x[i,k]", "y", Ties::zero, arrays()), {0, 0});
    check_equal(gradient_of("y[i] max= x[i,k]", "x", Ties::zero, arrays()), {0, 0, 0, 0, 0, 0});
    check_equal(gradient_of("y[i] max= x[i,k]", "y", Ties::first, arrays()), {12, 12});
}

TEST_CASE("a reduction that is added to a part of an array shares too") {
    const Array x = Array::from<double>({2, 0, 2, 1, 1, 1}, {2, 3});
    const Arrays arrays = {
        {"y", Array::full(DType::f64, {4}, 1)}, {"x", x}, {"dC", Array::full(DType::f64, {4}, 6)}};
    const std::string text = "C[i] := y[i]; C[2*i] += max[k](x[i,k])";
    check_equal(gradient_of(text, "x", Ties::first, arrays), {6, 0, 0, 6, 0, 0});
    check_equal(gradient_of(text, "x", Ties::even, arrays), {3, 0, 3, 2, 2, 2});
    check_equal(gradient_of(text, "x", Ties::zero, arrays), {0, 0, 0, 0, 0, 0});
}

TEST_CASE("both modes share in the same way") {
    struct Case {
        std::string text;
        std::string output;
        std::vector<std::pair<std::string, Shape>> arguments;
    };
    const std::vector<Case> cases = {
        {"m[i] := max[k](A[i,k])", "m", {{"A", {4, 5}}}},
        {"m := min[i,k](A[i,k]*b[k])", "m", {{"A", {4, 5}}, {"b", {5}}}},
        {"m[i] := max[k | k <= i](A[i,k]*b[k])", "m", {{"A", {4, 5}}, {"b", {5}}}},
        {"P[i] := max[k in 0:3](a[pad(2*i+k-1, 1, value=-inf)])", "P", {{"a", {9}}}},
        {"y[i] max= a[i]*b[i]", "y", {{"y", {9}}, {"a", {9}}, {"b", {9}}}},
        {"y[i] min= A[i,k]", "y", {{"y", {4}}, {"A", {4, 5}}}},
        {"y[J[i]] max= a[i]", "y", {{"y", {4}}, {"a", {9}}}},
        {"C[i] := y[i]; C[2*i] max= b[i] where i in 0:2", "C", {{"y", {4}}, {"b", {3}}}}};
    const Array j = Array::from<std::int64_t>({0, 1, 2, 0, 1, 2, 0, 0, 1}, {9});
    const auto dot = [](const Array& a, const Array& b) {
        double sum = 0;
        for (std::size_t n = 0; n < a.span<const double>().size(); ++n)
            sum += a.span<const double>()[n] * b.span<const double>()[n];
        return sum;
    };
    for_each_case([&](Ties ties, std::uint64_t seed, bool /*has_nan*/) {
        for (const Case& test : cases) {
            CAPTURE(test.text);
            const Program program = parse_program(test.text);
            Arrays given = {{"J", j}};
            Arrays tangents = {{"J", j}};
            std::vector<std::string> names;
            for (const auto& [name, shape] : test.arguments) {
                names.push_back(name);
                given.emplace(name, coarse(shape, seed + names.size()));
                tangents.emplace(name, given.at(name));
                tangents.emplace("d" + name, uniform(shape, -1, 1, seed + 10 * names.size()));
            }
            const Program tangent = grad::jvp(program, names, {.ties = ties});
            CAPTURE(str(tangent));
            const Array moved = evaluate(tangent, tangents).at("d" + test.output);
            const Array d = uniform(moved.shape(), -1, 1, seed + 99);
            double reverse = 0;
            for (const std::string& name : names) {
                Arrays arrays = given;
                arrays.emplace("d" + test.output, d);
                reverse += dot(gradient_of(test.text, name, ties, arrays), tangents.at("d" + name));
            }
            CHECK(dot(d, moved) == doctest::Approx(reverse));
        }
    });
}

TEST_CASE("nothing is shared where there is nothing") {
    for (const Ties ties : all_ties) {
        CAPTURE(grad::name(ties));
        const Array none(DType::f64, {3, 0});
        CHECK(gradient_of("m[i] := max[k](A[i,k])", "A", ties,
                          {{"A", none}, {"dm", Array::full(DType::f64, {3}, 1)}})
                  .shape() == Shape{3, 0});
        // No point: the old value stays, whatever it is.
        const Array y = Array::from<double>({-INFINITY, 1, not_a_number}, {3});
        const Arrays arrays = {{"y", y},
                               {"x", Array(DType::f64, {0})},
                               {"J", Array(DType::i64, {0})},
                               {"dy", Array::full(DType::f64, {3}, 1)}};
        check_equal(gradient_of("y[J[i]] max= x[i]", "y", ties, arrays), {1, 1, 1});
    }
}

TEST_CASE("the operations of two operands give half each, whatever the option") {
    for (const Ties ties : all_ties)
        check_equal(gradient_of("y[i] := max(a[i], b[i])", "a", ties,
                                {{"a", Array::from<double>({1, 2, 3}, {3})},
                                 {"b", Array::from<double>({2, 2, 2}, {3})},
                                 {"dy", Array::full(DType::f64, {3}, 1)}}),
                    {0, 0.5, 1});
}
