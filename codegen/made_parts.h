// codegen/made_parts.h – sums of products that earlier equations of a program have made
//
// The gradients of a product of several factors need some of the same products:
//
//     dX_part[b,c,k] := sum[a](dY[b,a,c]*G[a,k]),  and the same for dH
//
// Parts are found again whatever their indices are called, and whatever the order of factors.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/equation_maker.h"
#include "dsl/walk.h"

namespace ricci::codegen {

/// A sum of a product: its factors, the indices that are left, the condition of the points (may be
/// empty), and the type it is computed in.
struct PartTerms {
    std::vector<Expr> factors;
    std::vector<IndexId> kept;
    Expr condition;
    DType type = DType::none;
};

class MadeParts {
  public:
    explicit MadeParts(EquationMaker& make) : make_(make) {}

    /// The element, at the indices of the part, of an array that has it already.
    [[nodiscard]] std::optional<Expr> find(const PartTerms& part);
    /// Notes the array of a part, whose dimensions are these indices.
    void add(const PartTerms& part, TensorId array, const std::vector<IndexId>& dimensions);

  private:
    /// A part with indices of its own: the first, second, … of each range.
    struct Key {
        std::vector<std::size_t> numbers;  ///< of the factors, ascending
        std::vector<Expr> factors;         ///< in that order
        std::vector<IndexId> kept;
        Expr condition;
        DType type = DType::none;
        bool operator==(const Key&) const = default;
    };
    struct Made {
        Key key;
        TensorId array{};
        std::vector<IndexId> dimensions;  ///< those of the key
    };
    /// What the indices of terms are called in keys, numbered as they appear.
    class Names;

    /// Factors with their numbers, in an order that the names of indices do not decide.
    using Ordered = std::vector<std::pair<std::size_t, Expr>>;
    [[nodiscard]] Ordered ordered(const std::vector<Expr>& factors);
    [[nodiscard]] static Key key_of(const PartTerms& part, const Ordered& factors, Names& names);
    [[nodiscard]] std::size_t number_of(Expr factor);
    [[nodiscard]] IndexId standard(std::int64_t lower, std::int64_t upper, std::size_t number);

    EquationMaker& make_;
    std::vector<Made> made_;
    std::vector<Expr> factors_;       ///< all that were asked for, each with names of its own
    ExprMap<std::size_t> number_of_;  ///< of the terms that were asked for, in `factors_`
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<IndexId>> standard_;  ///< by range
};

}  // namespace ricci::codegen
