// dsl/affine_form.h – integer terms as affine forms, conditions as rows of a system
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "affine/system.h"
#include "dsl/expr.h"

namespace ricci {

/// What the variables of a system stand for: indices, and where they are allowed, floored quotients
/// `form // divisor` of forms (`x % c` is `x - c*(x // c)`). Numbered on first use.
class Variables {
  public:
    enum class Atoms : std::uint8_t { indices, quotients };

    explicit Variables(Atoms atoms = Atoms::indices) : atoms_(atoms) {}
    /// The indices as variables 0, 1, ….
    explicit Variables(const std::vector<IndexId>& indices, Atoms atoms = Atoms::indices);

    [[nodiscard]] std::size_t size() const noexcept { return atoms_of_.size(); }
    /// The variable of an index, made when it is new.
    std::size_t number(IndexId index);
    /// The variable of `form // divisor`, made when it is new; nothing when quotients are not
    /// allowed.
    std::optional<std::size_t> quotient(const affine::Form& form, std::int64_t divisor);
    /// The index a variable stands for, or nothing for a quotient.
    [[nodiscard]] std::optional<IndexId> index(std::size_t variable) const;
    /// Adds what defines the quotients to the system, and sets its number of variables.
    void define(affine::System& system) const;

  private:
    std::size_t find_or_add(const std::variant<IndexId, affine::Quotient>& atom);

    Atoms atoms_;
    std::vector<std::variant<IndexId, affine::Quotient>> atoms_of_;
};

/// The affine form of an integer term made of index values, integer literals, sums, negation,
/// products with a literal, and where `variables` allows, `//` and `%` by a positive literal.
/// Nothing for any other term, and when a number overflows.
[[nodiscard]] std::optional<affine::Form> affine_form(Expr e, Variables& variables);

/// The parts of a condition joined by `&&`, in order. Empty for no condition.
[[nodiscard]] std::vector<Expr> conjuncts(Expr condition);

/// One of the comparisons `<`, `<=`, `>`, `>=`, `==`.
struct Comparison {
    Op op = Op::eq;
    Expr left;
    Expr right;
};
/// What a conjunct of a condition says of the smaller ones of its parts: `a >= max(b, c)` is
/// `a >= b` and `a >= c`, likewise `a < min(b, c)`, nested and the other way round. Another
/// comparison is itself; any other term says nothing.
[[nodiscard]] std::vector<Comparison> comparisons(Expr conjunct);

/// Adds a comparison of affine terms to the system; false when it is none.
bool add_comparison(affine::System& system, const Comparison& comparison, Variables& variables);

/// Adds the conjuncts that are affine comparisons (`<`, `<=`, `>`, `>=`, `==` between affine terms)
/// to the system; returns the others, in order. The system must be completed by
/// `variables.define(system)`.
[[nodiscard]] std::vector<Expr> add_condition(affine::System& system, Expr condition,
                                              Variables& variables);

}  // namespace ricci
