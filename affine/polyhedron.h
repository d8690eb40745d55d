// affine/polyhedron.h – sets of tightened inequalities and their projections
//
// For use inside the affine room: everything here throws GaveUp when numbers overflow or a
// projection grows too large; the functions of affine/system.h turn that into the safe answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "affine/system.h"

namespace ricci::affine {

/// Thrown when an exact answer would need numbers or row counts out of reach.
struct GaveUp {};

/// Checked arithmetic. Throws: GaveUp on overflow.
[[nodiscard]] std::int64_t sum(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t product(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t negated(std::int64_t a);
[[nodiscard]] std::uint64_t magnitude(std::int64_t a) noexcept;
/// Rounded towards minus infinity; `b` is not 0.
[[nodiscard]] std::int64_t floor_div(std::int64_t a, std::int64_t b);

/// `x * a + y * b`.
[[nodiscard]] Form combine(std::int64_t x, const Form& a, std::int64_t y, const Form& b);
/// The greatest common divisor of the coefficients; 0 when all are 0.
[[nodiscard]] std::int64_t content(const Form& form);

/// The points where a set of forms is >= 0. Rows are divided by the content of their coefficients,
/// constants rounded down (no integer point is lost), and of rows with equal coefficients the
/// tightest is kept.
class Polyhedron {
  public:
    explicit Polyhedron(std::size_t variables) : variables_(variables) {}

    /// Adds `form >= 0`.
    void add(Form form);
    /// True once a row without variables is false.
    [[nodiscard]] bool is_contradictory() const noexcept { return is_contradictory_; }
    /// The rows, in a fixed order.
    [[nodiscard]] std::vector<Form> rows() const;
    /// The forms that rows bound by 0 from both sides. A pair that leaves no room between is a
    /// contradiction, found when one of its variables is eliminated.
    [[nodiscard]] std::vector<Form> implied_equalities() const;
    /// The variable whose elimination makes the fewest rows; nothing when no row has variables.
    [[nodiscard]] std::optional<std::size_t> cheapest_variable() const;
    /// Projects the variable out: each lower bound is paired with each upper bound. The result
    /// holds every integer point of the projection, and perhaps more where no coefficient is 1.
    void eliminate(std::size_t variable);

  private:
    std::size_t variables_;
    std::map<std::vector<std::int64_t>, std::int64_t> rows_;  ///< coefficients → constant
    bool is_contradictory_ = false;
};

}  // namespace ricci::affine
