// codegen/equation_maker.h – equations over temporaries, added to a bound program
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/bound.h"

namespace ricci::codegen {

/// Makes arrays, indices, terms and equations of a program that is being rewritten. Terms are i64
/// or bool; what they name has to be inside its array at every point of the equation.
class EquationMaker {
  public:
    explicit EquationMaker(BoundProgram& program) : program_(program) {}

    /// A new index over `[0, extent)`.
    IndexId index(std::string name, std::int64_t extent);
    /// A new temporary, row-major.
    TensorId array(std::string name, DType dtype, Shape shape);
    /// A type for integers of `[0, limit]`.
    static DType type_for(std::int64_t limit) noexcept;

    Expr integer(std::int64_t value);
    Expr value(IndexId id);
    /// Of an index, from its lower bound on; of several.
    Expr offset(IndexId id);
    std::vector<Expr> offsets(const std::vector<IndexId>& ids);
    /// Whether the term is a value of the index.
    Expr is_value_of(IndexId id, Expr term);
    /// An element; integers as i64.
    Expr element(TensorId tensor, std::vector<Expr> at);
    Expr add(Expr a, Expr b);
    Expr subtract(Expr a, Expr b);
    Expr times(Expr a, std::int64_t factor);
    Expr quotient(Expr a, std::int64_t divisor);   ///< floor(a / divisor), divisor >= 1
    Expr remainder(Expr a, std::int64_t divisor);  ///< of that quotient
    Expr min(Expr a, Expr b);
    Expr max(Expr a, Expr b);
    Expr compare(Op op, Expr a, Expr b);
    Expr both(Expr a, Expr b);  ///< either may be empty: true
    Expr choose(Expr condition, Expr a, Expr b);

    /// The term with indices replaced; empty stays empty.
    using Numbers = std::unordered_map<std::uint32_t, Expr>;
    Expr with(Expr e, const Numbers& numbers);
    /// The indices of an equation where it gives the element that an access reads; nothing where
    /// its places are not one index each, or leave elements out.
    std::optional<Numbers> indices_at(const BoundEquation& equation, const Access& access);

    /// `target[at] := value` for all points of the indices, or the reduction of the values; they
    /// are converted to the target's type, or to that of the accumulator.
    void define(TensorId target, std::vector<Expr> at, std::vector<IndexId> indices, Expr value,
                std::optional<Reduction> reduction = std::nullopt);
    /// The same where the target is one index after the other.
    void define(TensorId target, const std::vector<IndexId>& indices, Expr value,
                std::optional<Reduction> reduction = std::nullopt);
    /// A sum of integers over one index.
    static Reduction sum(IndexId over, DType accumulator, Expr condition = Expr());

    /// A sum that chooses between a term and 0 as one of what its condition leaves: `c ? v : 0` is
    /// v where c holds, the number of a condition is 1 there. Any other equation as it is.
    BoundEquation with_choice_taken(const BoundEquation& equation);

    [[nodiscard]] BoundProgram& program() noexcept { return program_; }
    [[nodiscard]] Context& context() noexcept { return *program_.context; }

  private:
    Expr operate(Op op, std::vector<Expr> args, DType dtype);

    BoundProgram& program_;
};

}  // namespace ricci::codegen
