// affine/system.cpp – systems as data, and emptiness by Fourier–Motzkin elimination
#include "affine/system.h"

#include <algorithm>
#include <map>

#include "affine/polyhedron.h"
#include "base/text.h"

namespace ricci::affine {

void System::at_least_zero(Form form) { inequalities.push_back(std::move(form)); }

void System::equal_zero(Form form) { equalities.push_back(std::move(form)); }

void System::in_range(std::size_t variable, std::int64_t lower, std::int64_t upper) {
    Form above{.constant = -lower, .coefficients = std::vector<std::int64_t>(variable + 1)};
    above.coefficients[variable] = 1;
    Form below{.constant = upper - 1, .coefficients = std::vector<std::int64_t>(variable + 1)};
    below.coefficients[variable] = -1;
    at_least_zero(std::move(above));
    at_least_zero(std::move(below));
}

namespace {

/// Replaces variable `v` in `form` by `value` (which does not use `v`, or uses it as the new `v`).
void replace(Form& form, std::size_t v, const Form& value) {
    const std::int64_t factor = form.at(v);
    if (factor == 0) return;
    form.coefficients[v] = 0;
    form = combine(1, form, factor, value);
}

/// The variable with the smallest coefficient that is not 0.
std::size_t smallest(const Form& form) {
    std::size_t best = form.coefficients.size();
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
        if (form.at(v) == 0) continue;
        if (best == form.coefficients.size() || magnitude(form.at(v)) < magnitude(form.at(best))) {
            best = v;
        }
    }
    return best;
}

/// Removes every equality by unimodular changes of variables, which keep the integer points one to
/// one: while no coefficient is 1, Euclid's step `x_k = s - sum floor(a_j / a_k) x_j` makes them
/// smaller; then the variable is substituted. False when there is no integer solution.
bool solve_equalities(System& system) {
    while (!system.equalities.empty()) {
        Form equality = std::move(system.equalities.back());
        system.equalities.pop_back();
        const std::int64_t divisor = content(equality);
        if (divisor == 0) {
            if (equality.constant != 0) return false;
            continue;
        }
        if (equality.constant % divisor != 0) return false;
        equality.constant /= divisor;
        for (std::int64_t& a : equality.coefficients) a /= divisor;

        const std::size_t k = smallest(equality);
        const std::int64_t pivot = equality.at(k);
        Form value{.coefficients = std::vector<std::int64_t>(system.variables)};
        if (magnitude(pivot) == 1) {
            value = combine(-pivot, equality, 0, {});
            value.coefficients[k] = 0;
        } else {
            for (std::size_t j = 0; j < equality.coefficients.size(); ++j) {
                value.coefficients[j] = negated(floor_div(equality.at(j), pivot));
            }
            value.coefficients[k] = 1;
            replace(equality, k, value);
            system.equalities.push_back(equality);
        }
        for (Form& form : system.inequalities) replace(form, k, value);
        const std::size_t others = system.equalities.size() - (magnitude(pivot) == 1 ? 0 : 1);
        for (std::size_t e = 0; e < others; ++e) replace(system.equalities[e], k, value);
    }
    return true;
}

bool is_empty_checked(System system) {
    for (Form& form : system.inequalities) form.coefficients.resize(system.variables);
    for (Form& form : system.equalities) form.coefficients.resize(system.variables);
    while (true) {
        if (!solve_equalities(system)) return true;
        Polyhedron points(system.variables);
        for (const Form& form : system.inequalities) points.add(form);
        if (points.is_contradictory()) return true;
        // `a >= 0` and `-a >= 0` together are an equality, and equalities are solved exactly.
        system.equalities = points.implied_equalities();
        if (system.equalities.empty()) {
            const std::optional<std::size_t> cheapest = points.cheapest_variable();
            if (!cheapest) return false;
            points.eliminate(*cheapest);
            if (points.is_contradictory()) return true;
        }
        system.inequalities = points.rows();
    }
}

}  // namespace

bool is_empty(const System& system) {
    try {
        return is_empty_checked(system);
    } catch (const GaveUp&) {
        return false;
    }
}

bool implies(const System& system, const Form& form) {
    try {
        System counterexamples = system;
        Form opposite = combine(-1, form, 0, {});
        opposite.constant = sum(opposite.constant, -1);
        counterexamples.at_least_zero(std::move(opposite));
        return is_empty_checked(std::move(counterexamples));
    } catch (const GaveUp&) {
        return false;
    }
}

std::string str(const Form& form, const std::vector<std::string>& names) {
    std::string text;
    const auto append = [&](bool is_negative, const std::string& term) {
        if (text.empty()) {
            text = is_negative ? "-" + term : term;
        } else {
            text += (is_negative ? " - " : " + ") + term;
        }
    };
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
        const std::int64_t a = form.at(v);
        if (a == 0) continue;
        const std::string name = v < names.size() ? names[v] : format("x{}", v);
        const std::uint64_t size = magnitude(a);
        append(a < 0, size == 1 ? name : format("{}*{}", size, name));
    }
    if (form.constant != 0 || text.empty()) {
        append(form.constant < 0, format("{}", magnitude(form.constant)));
    }
    return text;
}

}  // namespace ricci::affine
