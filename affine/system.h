// affine/system.h – integer points of systems of linear inequalities
//
// Variables are numbered 0 … n-1. Used to prove accesses in bounds, to turn conditions into loop
// bounds, and to invert maps. All arithmetic is overflow-checked; an overflow gives the safe
// answer ("not proved", "no bounds").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ricci::affine {

/// `constant + sum of coefficients[v] * v`. Missing trailing coefficients are 0.
struct Form {
    std::int64_t constant = 0;
    std::vector<std::int64_t> coefficients = {};

    [[nodiscard]] std::int64_t at(std::size_t variable) const noexcept {
        return variable < coefficients.size() ? coefficients[variable] : 0;
    }
    bool operator==(const Form&) const noexcept = default;
};

/// The integer points where every inequality is >= 0 and every equality is 0.
struct System {
    std::size_t variables = 0;
    std::vector<Form> inequalities = {};
    std::vector<Form> equalities = {};

    void at_least_zero(Form form);
    void equal_zero(Form form);
    /// lower <= variable < upper
    void in_range(std::size_t variable, std::int64_t lower, std::int64_t upper);
};

/// True when it is proved that there is no integer point (Fourier–Motzkin elimination with integer
/// tightening; Pugh 1991, "The Omega test", without its splinters). False: there may be one.
[[nodiscard]] bool is_empty(const System& system);

/// True when `form >= 0` is proved for every integer point of the system.
[[nodiscard]] bool implies(const System& system, const Form& form);

/// ceil(form / divisor) as a lower bound, floor(form / divisor) as an inclusive upper bound;
/// divisor > 0; the form uses only variables earlier in the scan's order.
struct Quotient {
    Form form;
    std::int64_t divisor = 1;

    bool operator==(const Quotient&) const noexcept = default;
};
/// How one variable runs: from the largest lower bound to the smallest upper bound (inclusive).
struct ScanLoop {
    std::size_t variable = 0;
    std::vector<Quotient> lower;
    std::vector<Quotient> upper;
    /// Set when an equality fixes the variable: its value is form / divisor where the division is
    /// exact (always, for divisor 1). A hint: the bounds hold it too, and they say where it exists.
    std::optional<Quotient> value;
};
/// Loops that visit exactly the integer points, each once, in lexicographic order.
struct Scan {
    std::vector<ScanLoop> loops;
    /// Forms that must be >= 0 and that no loop could carry: conditions on outer variables alone
    /// where every variable is outer, or where the first loop after them has no constant bounds.
    std::vector<Form> checks;
};

/// Bounds for scanning the system in `order` (outermost first; each variable once). Redundant
/// bounds are dropped, so that a box gives constant bounds. The first `outer` variables of the
/// order are known to lie in their ranges, which are the first `in_range` of each; what the system
/// further says of them alone becomes a bound of the first loop after them, which is empty where
/// it does not hold. Nothing when a variable is unbounded or the numbers grow too large.
[[nodiscard]] std::optional<Scan> scan(const System& system, const std::vector<std::size_t>& order,
                                       std::size_t outer = 0);

[[nodiscard]] std::string str(const Form& form, const std::vector<std::string>& names);

}  // namespace ricci::affine
