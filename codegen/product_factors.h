// codegen/product_factors.h – what a bound program sums, as products
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "codegen/equation_maker.h"

namespace ricci::codegen {

struct Product {
    bool is_negative = false;
    std::vector<Expr> factors;
    std::vector<Expr> divisors = {};

    [[nodiscard]] bool is_one() const noexcept {
        return !is_negative && factors.empty() && divisors.empty();
    }
};

/// Finds the factors of terms, also through temporaries that are products of elements themselves.
class ProductFactors {
  public:
    explicit ProductFactors(EquationMaker& make) : make_(make) {}

    /// Reads of what the equation gives, if a product, are that product from here on. So are those
    /// of the one point of a sum, `sum[s2 | s2 <= t && s2 == s](C[t]*X[s2])`, where `s <= t`.
    void note(const BoundEquation& equation);
    /// The factors of what is summed over the indices under the conditions.
    /// A divisor that has one of the summed indices stays with a factor that it divides, one that
    /// has the index if there is one. A product of very many factors (they may be shared, and then
    /// double at each level) is one.
    Product factors_of(Expr e, const std::vector<IndexId>& summed,
                       const std::vector<Expr>& conditions);
    /// The product in a type; 1 of none.
    Expr term(const Product& product, DType dtype);
    /// A sum's equation as a product where the condition holds, which may be empty, else 0. Arrays
    /// that it reads may not be empty.
    BoundEquation as_product(const BoundEquation& sum, const Product& product, Expr condition);

  private:
    /// A product of elements, where all of the conditions hold.
    struct Temporary {
        BoundEquation equation;
        std::vector<Expr> conditions;
    };
    std::optional<Temporary> one_point(const BoundEquation& equation);
    void add(Product& product, Expr e, const std::vector<IndexId>& summed,
             const std::vector<Expr>& conditions);

    EquationMaker& make_;
    std::map<TensorId, Temporary> temporaries_;
};

}  // namespace ricci::codegen
