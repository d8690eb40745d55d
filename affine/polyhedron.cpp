// affine/polyhedron.cpp – tightening and Fourier–Motzkin elimination
#include "affine/polyhedron.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ricci::affine {

namespace {

/// Systems of programs have tens of rows; a projection that passes this is not worth its time.
constexpr std::size_t max_rows = 2000;

}  // namespace

std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) throw GaveUp{};
    return result;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) throw GaveUp{};
    return result;
}

std::int64_t negated(std::int64_t a) { return product(a, -1); }

std::uint64_t magnitude(std::int64_t a) noexcept {
    const auto bits = static_cast<std::uint64_t>(a);
    return a < 0 ? 0 - bits : bits;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    if (b == -1) return negated(a);
    const std::int64_t quotient = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

Form combine(std::int64_t x, const Form& a, std::int64_t y, const Form& b) {
    Form result{.constant = sum(product(x, a.constant), product(y, b.constant)),
                .coefficients = std::vector<std::int64_t>(
                    std::max(a.coefficients.size(), b.coefficients.size()))};
    for (std::size_t v = 0; v < result.coefficients.size(); ++v) {
        result.coefficients[v] = sum(product(x, a.at(v)), product(y, b.at(v)));
    }
    return result;
}

std::int64_t content(const Form& form) {
    std::int64_t divisor = 0;
    for (const std::int64_t a : form.coefficients) {
        if (a == std::numeric_limits<std::int64_t>::min()) throw GaveUp{};
        divisor = std::gcd(divisor, a);
    }
    return divisor;
}

void Polyhedron::add(Form form) {
    form.coefficients.resize(variables_);
    const std::int64_t divisor = content(form);
    if (divisor == 0) {
        is_contradictory_ = is_contradictory_ || form.constant < 0;
        return;
    }
    for (std::int64_t& a : form.coefficients) a /= divisor;
    form.constant = floor_div(form.constant, divisor);
    const auto [row, is_new] = rows_.try_emplace(std::move(form.coefficients), form.constant);
    if (!is_new) row->second = std::min(row->second, form.constant);
    if (rows_.size() > max_rows) throw GaveUp{};
}

std::vector<Form> Polyhedron::rows() const {
    std::vector<Form> result;
    result.reserve(rows_.size());
    for (const auto& [coefficients, constant] : rows_) {
        result.push_back({.constant = constant, .coefficients = coefficients});
    }
    return result;
}

std::vector<Form> Polyhedron::implied_equalities() const {
    std::vector<Form> result;
    for (const Form& row : rows()) {
        const Form opposite = combine(-1, row, 0, {});
        const auto found = rows_.find(opposite.coefficients);
        if (found == rows_.end() || found->second != opposite.constant) continue;
        // Of the two rows, the one that comes first stands for both.
        if (row.coefficients < opposite.coefficients) result.push_back(row);
    }
    return result;
}

std::optional<std::size_t> Polyhedron::cheapest_variable() const {
    std::optional<std::size_t> best;
    std::size_t best_cost = 0;
    for (std::size_t v = 0; v < variables_; ++v) {
        std::size_t lower = 0;
        std::size_t upper = 0;
        for (const auto& [coefficients, constant] : rows_) {
            lower += coefficients[v] > 0 ? 1 : 0;
            upper += coefficients[v] < 0 ? 1 : 0;
        }
        if (lower + upper == 0) continue;
        if (!best || lower * upper < best_cost) {
            best = v;
            best_cost = lower * upper;
        }
    }
    return best;
}

void Polyhedron::eliminate(std::size_t variable) {
    std::vector<Form> lower;
    std::vector<Form> upper;
    for (const Form& row : rows()) {
        if (row.at(variable) == 0) continue;
        rows_.erase(row.coefficients);
        (row.at(variable) > 0 ? lower : upper).push_back(row);
    }
    for (const Form& below : lower) {
        for (const Form& above : upper) {
            const std::int64_t a = below.at(variable);
            const std::int64_t b = negated(above.at(variable));
            const std::int64_t common = std::gcd(a, b);
            add(combine(b / common, below, a / common, above));
        }
    }
}

}  // namespace ricci::affine
