// tests/affine/system_test.cpp – emptiness, implication and printing of affine systems
#include "affine/system.h"

#include <limits>
#include <random>

#include <doctest/doctest.h>

using namespace ricci::affine;

namespace {

Form form(std::int64_t constant, std::vector<std::int64_t> coefficients) {
    return {.constant = constant, .coefficients = std::move(coefficients)};
}

std::int64_t value(const Form& f, const std::vector<std::int64_t>& x) {
    std::int64_t total = f.constant;
    for (std::size_t v = 0; v < x.size(); ++v) total += f.at(v) * x[v];
    return total;
}

bool holds(const System& system, const std::vector<std::int64_t>& x) {
    for (const Form& f : system.inequalities) {
        if (value(f, x) < 0) return false;
    }
    for (const Form& f : system.equalities) {
        if (value(f, x) != 0) return false;
    }
    return true;
}

/// Whether any point of [-8, 8]^n satisfies the system and `test`.
template <class Test>
bool any_point(const System& system, Test test) {
    std::vector<std::int64_t> x(system.variables, -8);
    while (true) {
        if (holds(system, x) && test(x)) return true;
        std::size_t v = 0;
        while (v < x.size() && ++x[v] > 8) x[v++] = -8;
        if (v == x.size()) return false;
    }
}

Form random_form(std::mt19937& random, std::size_t variables) {
    Form f{.constant = std::int64_t(random() % 15) - 7,
           .coefficients = std::vector<std::int64_t>(variables)};
    for (auto& a : f.coefficients) a = random() % 2 == 0 ? 0 : std::int64_t(random() % 7) - 3;
    return f;
}

System random_system(std::mt19937& random) {
    System system{.variables = 1 + random() % 3, .inequalities = {}, .equalities = {}};
    for (std::size_t v = 0; v < system.variables; ++v) {
        const std::int64_t lower = std::int64_t(random() % 9) - 6;
        system.in_range(v, lower, lower + std::int64_t(random() % 7));
    }
    for (auto n = random() % 3; n > 0; --n) {
        system.at_least_zero(random_form(random, system.variables));
    }
    if (random() % 3 == 0) system.equal_zero(random_form(random, system.variables));
    return system;
}

}  // namespace

TEST_CASE("a box with points is not empty and one without is") {
    System box{.variables = 2, .inequalities = {}, .equalities = {}};
    box.in_range(0, 0, 4);
    CHECK_FALSE(is_empty(box));
    box.in_range(1, 3, 3);
    CHECK(is_empty(box));
}

TEST_CASE("an equality without integer solutions is empty") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.equal_zero(form(1, {2, 4}));  // 2x + 4y + 1 = 0
    CHECK(is_empty(system));
}

TEST_CASE("two inequalities that meet act as an equality") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.in_range(0, 0, 2);
    system.in_range(1, 0, 2);
    system.at_least_zero(form(-1, {6, -10}));  // 6x - 10y = 1 has no integer solution
    system.at_least_zero(form(1, {-6, 10}));
    CHECK(is_empty(system));
}

TEST_CASE("integer tightening proves what the rational relaxation cannot") {
    System system{.variables = 1, .inequalities = {}, .equalities = {}};
    system.at_least_zero(form(-1, {2}));  // 1/2 <= x
    CHECK(implies(system, form(-1, {1})));
    CHECK_FALSE(implies(system, form(-2, {1})));
}

TEST_CASE("an access of a valid convolution is in bounds") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.in_range(0, 0, 30);
    system.in_range(1, 0, 3);
    CHECK(implies(system, form(0, {1, 1})));
    CHECK(implies(system, form(31, {-1, -1})));
    CHECK_FALSE(implies(system, form(30, {-1, -1})));
}

TEST_CASE("numbers out of reach are not proved") {
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.at_least_zero(form(-huge, {huge, 3}));
    system.at_least_zero(form(huge, {-huge + 1, -5}));
    CHECK_FALSE(implies(system, form(-huge, {huge - 2, 7})));
}

TEST_CASE("emptiness and implication agree with all points of random small systems") {
    std::mt19937 random(1);
    int empty = 0;
    int proved = 0;
    int missed = 0;
    for (int round = 0; round < 3000; ++round) {
        CAPTURE(round);
        const System system = random_system(random);
        const bool has_point = any_point(system, [](const auto&) { return true; });
        if (is_empty(system)) {
            ++empty;
            CHECK_FALSE(has_point);
        } else {
            missed += has_point ? 0 : 1;
        }
        const Form claim = random_form(random, system.variables);
        const bool fails = any_point(system, [&](const auto& x) { return value(claim, x) < 0; });
        if (implies(system, claim)) {
            ++proved;
            CHECK_FALSE(fails);
        } else {
            missed += fails ? 0 : 1;
        }
    }
    CHECK(empty > 300);
    CHECK(proved > 500);
    CHECK(missed < 60);  // what needs splinters of the Omega test: under 1 %
}

TEST_CASE("a form prints as a sum") {
    CHECK(str(form(-2, {1, -1}), {"t", "k"}) == "t - k - 2");
    CHECK(str(form(0, {}), {}) == "0");
    CHECK(str(form(5, {-3}), {"i"}) == "-3*i + 5");
}
