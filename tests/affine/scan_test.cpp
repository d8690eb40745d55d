// tests/affine/scan_test.cpp – loop bounds visit exactly the integer points
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "affine/system.h"
#include "base/text.h"

using namespace ricci::affine;

namespace {

using Point = std::vector<std::int64_t>;

Form form(std::int64_t constant, std::vector<std::int64_t> coefficients) {
    return {.constant = constant, .coefficients = std::move(coefficients)};
}

std::int64_t value(const Form& f, const Point& x) {
    std::int64_t total = f.constant;
    for (std::size_t v = 0; v < x.size(); ++v) total += f.at(v) * x[v];
    return total;
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

bool holds(const System& system, const Point& x) {
    return std::all_of(system.inequalities.begin(), system.inequalities.end(),
                       [&](const Form& f) { return value(f, x) >= 0; }) &&
           std::all_of(system.equalities.begin(), system.equalities.end(),
                       [&](const Form& f) { return value(f, x) == 0; });
}

/// `max(a, b) .. min(c, d)` of every loop, as `t: 0 .. 9; k: max(0, t - 7) .. min(2, t)`.
std::string bounds(const Scan& scan, const std::vector<std::string>& names) {
    const auto side = [&](const std::vector<Quotient>& terms, const char* pick) {
        std::vector<std::string> texts;
        for (const Quotient& q : terms) {
            texts.push_back(q.divisor == 1
                                ? str(q.form, names)
                                : ricci::format("({})/{}", str(q.form, names), q.divisor));
        }
        std::sort(texts.begin(), texts.end());
        if (texts.size() == 1) return texts[0];
        return ricci::format("{}({})", pick, ricci::join(texts, ", "));
    };
    std::vector<std::string> loops;
    for (const ScanLoop& loop : scan.loops) {
        loops.push_back(ricci::format("{}: {} .. {}", names[loop.variable], side(loop.lower, "max"),
                                      side(loop.upper, "min")));
    }
    return ricci::join(loops, "; ");
}

/// Runs the loops; the first `outer` over their ranges in `box`.
void run(const Scan& scan, const std::vector<std::pair<int, int>>& box, std::size_t outer,
         std::size_t depth, Point& x, std::vector<Point>& visited) {
    if (depth == scan.loops.size()) {
        for (const Form& check : scan.checks) {
            if (value(check, x) < 0) return;
        }
        visited.push_back(x);
        return;
    }
    const ScanLoop& loop = scan.loops[depth];
    std::int64_t lower = box[loop.variable].first;
    std::int64_t upper = box[loop.variable].second - 1;
    if (depth >= outer) {
        lower = std::numeric_limits<std::int64_t>::min();
        upper = std::numeric_limits<std::int64_t>::max();
        for (const Quotient& q : loop.lower) {
            lower = std::max(lower, -floor_of(-value(q.form, x), q.divisor));
        }
        for (const Quotient& q : loop.upper) {
            upper = std::min(upper, floor_of(value(q.form, x), q.divisor));
        }
    }
    for (std::int64_t v = lower; v <= upper; ++v) {
        x[loop.variable] = v;
        run(scan, box, outer, depth + 1, x, visited);
    }
    x[loop.variable] = 0;
}

}  // namespace

TEST_CASE("a box has constant bounds") {
    System box{.variables = 2, .inequalities = {}, .equalities = {}};
    box.in_range(0, 0, 4);
    box.in_range(1, -1, 3);
    CHECK(bounds(scan(box, {0, 1}).value(), {"i", "j"}) == "i: 0 .. 3; j: -1 .. 2");
    CHECK(bounds(scan(box, {1, 0}, 1).value(), {"i", "j"}) == "j: -1 .. 2; i: 0 .. 3");
}

TEST_CASE("the gradient of a valid convolution has the bounds of textbooks") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.in_range(0, 0, 32);                // t over A
    system.in_range(1, 0, 3);                 // k over F
    system.at_least_zero(form(0, {1, -1}));   // 0 <= t - k
    system.at_least_zero(form(29, {-1, 1}));  // t - k < 30
    CHECK(bounds(scan(system, {0, 1}, 1).value(), {"t", "k"}) ==
          "t: 0 .. 31; k: max(0, t - 29) .. min(2, t)");
}

TEST_CASE("conditions that always hold leave no bound") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.in_range(0, 5, 9);
    system.in_range(1, 0, 3);
    system.at_least_zero(form(0, {1, -1}));
    CHECK(bounds(scan(system, {0, 1}, 1).value(), {"t", "k"}) == "t: 5 .. 8; k: 0 .. 2");
}

TEST_CASE("an equality fixes its variable") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.in_range(0, 0, 8);
    system.in_range(1, 0, 7);
    system.equal_zero(form(1, {-1, 1}));  // i + 1 == t
    const Scan found = scan(system, {0, 1}, 1).value();
    CHECK(bounds(found, {"t", "i"}) == "t: 0 .. 7; i: max(0, t - 1) .. t - 1");
    REQUIRE(found.loops[1].value);
    CHECK(found.loops[1].value->form == form(-1, {1, 0}));
}

TEST_CASE("a stride divides") {
    System system{.variables = 2, .inequalities = {}, .equalities = {}};
    system.in_range(0, 0, 8);
    system.in_range(1, 0, 3);
    system.equal_zero(form(1, {-1, 2}));  // 2*i + 1 == t, so that i >= -1/2
    CHECK(bounds(scan(system, {0, 1}, 1).value(), {"t", "i"}) ==
          "t: 0 .. 7; i: (t - 1)/2 .. min((t - 1)/2, 2)");
}

TEST_CASE("a condition on outer variables alone empties the loop after them") {
    System system{.variables = 3, .inequalities = {}, .equalities = {}};
    system.in_range(0, 0, 4);
    system.in_range(1, 0, 4);
    system.in_range(2, 0, 5);
    system.at_least_zero(form(0, {-1, 1, 0}));  // i <= j
    const Scan found = scan(system, {0, 1, 2}, 2).value();
    CHECK(found.checks.empty());
    CHECK(bounds(found, {"i", "j", "k"}) == "i: 0 .. 3; j: 0 .. 3; k: 0 .. min(-5*i + 5*j + 4, 4)");
    CHECK(scan(system, {0, 1, 2}, 3).value().checks.size() == 1);
}

TEST_CASE("a variable without bounds cannot be scanned") {
    System system{.variables = 1, .inequalities = {}, .equalities = {}};
    system.at_least_zero(form(0, {1}));
    CHECK_FALSE(scan(system, {0}).has_value());
}

TEST_CASE("the loops of random systems visit their points once each, in order") {
    std::mt19937 random(7);
    std::size_t points = 0;
    for (int round = 0; round < 2000; ++round) {
        CAPTURE(round);
        System system{.variables = 1 + random() % 4, .inequalities = {}, .equalities = {}};
        std::vector<std::pair<int, int>> box;
        std::vector<std::size_t> order;
        for (std::size_t v = 0; v < system.variables; ++v) {
            const int lower = int(random() % 5) - 3;
            box.emplace_back(lower, lower + 1 + int(random() % 6));
            system.in_range(v, box[v].first, box[v].second);
            order.push_back(v);
        }
        std::shuffle(order.begin(), order.end(), random);
        for (auto n = random() % 4; n > 0; --n) {
            Form f = form(int(random() % 13) - 4, Point(system.variables));
            for (auto& a : f.coefficients) a = random() % 2 == 0 ? 0 : int(random() % 7) - 3;
            if (random() % 4 == 0) {
                system.equal_zero(f);
            } else {
                system.at_least_zero(f);
            }
        }
        const std::size_t outer = random() % (system.variables + 1);
        const auto found = scan(system, order, outer);
        REQUIRE(found);

        std::vector<Point> expected;
        Scan everything;
        for (const std::size_t v : order) {
            everything.loops.push_back({.variable = v, .lower = {}, .upper = {}, .value = {}});
        }
        Point x(system.variables);
        run(everything, box, system.variables, 0, x, expected);
        std::erase_if(expected, [&](const Point& p) { return !holds(system, p); });
        std::vector<Point> visited;
        run(*found, box, outer, 0, x, visited);
        CHECK(visited == expected);
        points += expected.size();
    }
    CHECK(points > 20000);
}
