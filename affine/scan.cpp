// affine/scan.cpp – loop bounds that visit the integer points of a system
//
// Innermost first, each variable's rows become its bounds and the variable is projected out. Every
// row of the system is a bound of its innermost variable, so the loops visit exactly the integer
// points; projections only make outer loops shorter.
#include <algorithm>
#include <functional>

#include "affine/polyhedron.h"
#include "base/error.h"

namespace ricci::affine {

namespace {

/// The rows of a system, equalities as two inequalities, apart by what they are to a scan.
struct Split {
    System ranges;            ///< of the outer variables
    std::vector<Form> outer;  ///< further rows of outer variables alone
    std::vector<Form> inner;  ///< rows that involve a variable to be scanned
};

std::size_t count_variables(const Form& form) {
    return static_cast<std::size_t>(
        std::ranges::count_if(form.coefficients, [](std::int64_t a) { return a != 0; }));
}

Split split(const System& system, const std::vector<bool>& is_outer) {
    Split result{.ranges = {.variables = system.variables}, .outer = {}, .inner = {}};
    std::vector<bool> has_lower(system.variables);
    std::vector<bool> has_upper(system.variables);
    const auto place = [&](Form row) {
        row.coefficients.resize(system.variables);
        std::size_t innermost = system.variables;
        bool is_inner = false;
        for (std::size_t v = 0; v < system.variables; ++v) {
            if (row.at(v) == 0) continue;
            innermost = v;
            is_inner = is_inner || !is_outer[v];
        }
        if (is_inner) {
            result.inner.push_back(std::move(row));
            return;
        }
        // The first unit row of each side is the range of an outer variable; others are conditions.
        if (count_variables(row) == 1 && magnitude(row.at(innermost)) == 1) {
            auto& has_side = row.at(innermost) > 0 ? has_lower : has_upper;
            if (!has_side[innermost]) {
                has_side[innermost] = true;
                result.ranges.at_least_zero(std::move(row));
                return;
            }
        }
        result.outer.push_back(std::move(row));
    };
    for (const Form& row : system.inequalities) place(row);
    for (const Form& row : system.equalities) {
        place(row);
        place(combine(-1, row, 0, {}));
    }
    return result;
}

/// Drops rows that the others and the context imply: those with many variables first, so that
/// constant bounds stay; rows of an equality last, so that it is recognised.
void drop_redundant(std::vector<Form>& rows, const System& context) {
    const auto is_half_of_equality = [&](const Form& row) {
        return std::ranges::find(rows, combine(-1, row, 0, {})) != rows.end();
    };
    std::vector<Form> candidates = rows;
    std::ranges::stable_sort(candidates, [&](const Form& a, const Form& b) {
        const bool a_last = is_half_of_equality(a);
        const bool b_last = is_half_of_equality(b);
        if (a_last != b_last) return b_last;
        return count_variables(a) > count_variables(b);
    });
    for (const Form& candidate : candidates) {
        System others = context;
        for (const Form& row : rows) {
            if (row != candidate) others.at_least_zero(row);
        }
        if (implies(others, candidate)) std::erase(rows, candidate);
    }
}

/// `row >= 0` solved for the variable.
void add_bound(ScanLoop& loop, const Form& row) {
    const std::int64_t a = row.at(loop.variable);
    Form rest = row;
    rest.coefficients[loop.variable] = 0;
    if (a > 0) {
        loop.lower.push_back({.form = combine(-1, rest, 0, {}), .divisor = a});
    } else {
        loop.upper.push_back({.form = std::move(rest), .divisor = negated(a)});
    }
}

ScanLoop make_loop(std::size_t variable, const std::vector<Form>& rows) {
    ScanLoop loop{.variable = variable, .lower = {}, .upper = {}, .value = {}};
    for (const Form& row : rows) add_bound(loop, row);
    for (const Quotient& lower : loop.lower) {
        for (const Quotient& upper : loop.upper) {
            if (lower.form == upper.form && lower.divisor == upper.divisor) loop.value = lower;
        }
    }
    return loop;
}

/// Constant bounds of one variable over a system: [lower, upper], or nothing.
struct Interval {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
};
std::optional<Interval> interval(const System& system, std::size_t variable) {
    Polyhedron points(system.variables);
    for (const Form& row : system.inequalities) points.add(row);
    for (std::size_t v = 0; v < system.variables; ++v) {
        if (v != variable) points.eliminate(v);
    }
    std::optional<std::int64_t> lower;
    std::optional<std::int64_t> upper;
    for (const Form& row : points.rows()) {
        (row.at(variable) > 0 ? lower : upper) =
            row.at(variable) > 0 ? -row.constant : row.constant;
    }
    if (!lower || !upper) return std::nullopt;
    return Interval{.lower = *lower, .upper = *upper};
}

/// Makes `condition >= 0`, which does not involve the loop's variable, a bound of the loop: with
/// the variable in [L, U] as things stand, `x <= U + (U - L + 1) * condition` leaves the loop as it
/// is where the condition holds and empties it where it does not. False when that is impossible.
bool add_condition(ScanLoop& loop, const Form& condition, const System& context) {
    const std::optional<Interval> x = interval(context, loop.variable);
    if (!x || x->upper < x->lower) return false;
    const std::int64_t extent = sum(sum(x->upper, negated(x->lower)), 1);
    const Form highest{.constant = x->upper, .coefficients = {}};
    loop.upper.push_back({.form = combine(1, highest, extent, condition), .divisor = 1});
    return true;
}

/// No point at all: every loop is empty, or where there is none to scan, a check fails.
Scan empty_scan(const std::vector<std::size_t>& order, std::size_t outer) {
    Scan result;
    for (const std::size_t v : order) {
        result.loops.push_back(
            {.variable = v,
             .lower = {{.form = {}, .divisor = 1}},
             .upper = {{.form = {.constant = -1, .coefficients = {}}, .divisor = 1}},
             .value = {}});
    }
    if (outer == order.size()) result.checks.push_back({.constant = -1, .coefficients = {}});
    return result;
}

/// For each place in the order from `outer` on: what bounds its variable once those further in are
/// eliminated.
std::vector<std::vector<Form>> bounding_rows(const Split& parts, std::size_t variables,
                                             const std::vector<std::size_t>& order,
                                             std::size_t outer) {
    Polyhedron points(variables);
    for (const Form& row : parts.ranges.inequalities) points.add(row);
    for (const Form& row : parts.inner) points.add(row);
    std::vector<std::vector<Form>> rows_of(order.size());
    for (std::size_t p = order.size(); p-- > outer;) {
        for (const Form& row : points.rows()) {
            if (row.at(order[p]) != 0) rows_of[p].push_back(row);
        }
        points.eliminate(order[p]);
    }
    return rows_of;
}

std::optional<Scan> scan_checked(const System& system, const std::vector<std::size_t>& order,
                                 std::size_t outer) {
    std::vector<bool> is_outer(system.variables);
    for (std::size_t p = 0; p < outer; ++p) is_outer.at(order[p]) = true;
    const Split parts = split(system, is_outer);
    std::vector<std::vector<Form>> rows_of = bounding_rows(parts, system.variables, order, outer);

    Scan result;
    for (std::size_t p = 0; p < outer; ++p) {
        std::vector<Form> range;
        for (const Form& row : parts.ranges.inequalities) {
            if (row.at(order[p]) != 0) range.push_back(row);
        }
        result.loops.push_back(make_loop(order[p], range));
    }
    System context = parts.ranges;
    for (std::size_t p = outer; p < order.size(); ++p) {
        drop_redundant(rows_of[p], context);
        for (const Form& row : rows_of[p]) context.at_least_zero(row);
        ScanLoop loop = make_loop(order[p], rows_of[p]);
        if (loop.lower.empty() || loop.upper.empty()) return std::nullopt;
        result.loops.push_back(std::move(loop));
        if (p != outer) continue;
        for (const Form& condition : parts.outer) {
            if (implies(parts.ranges, condition)) continue;
            if (!add_condition(result.loops.back(), condition, context)) {
                result.checks.push_back(condition);
            }
        }
    }
    if (outer == order.size()) result.checks = parts.outer;
    return result;
}

}  // namespace

std::optional<Scan> scan(const System& system, const std::vector<std::size_t>& order,
                         std::size_t outer) {
    RICCI_ASSERT(order.size() == system.variables && outer <= order.size(),
                 "a scan orders every variable once");
    try {
        if (is_empty(system)) return empty_scan(order, outer);
        return scan_checked(system, order, outer);
    } catch (const GaveUp&) {
        return std::nullopt;
    }
}

}  // namespace ricci::affine
