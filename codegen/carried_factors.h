// codegen/carried_factors.h – factors of sums up to each point that a walk carries on
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "codegen/equation_maker.h"
#include "codegen/prefix.h"
#include "codegen/product_factors.h"

namespace ricci::codegen {

/// A sum of products over points p of which each result r takes those up to `r + shift`, or from
/// there on.
struct PrefixSum {
    const BoundEquation& equation;
    Prefix prefix;
    Expr condition;  ///< the one that says so: other points are passed over, and carried on
};

/// The first and the last point that some result takes.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> taken_points(const BoundProgram& program,
                                                                 const Prefix& prefix);

/// A factor F(p,r) as `own(p)*outer(r)*value(q)*…` over the points q that joined after p.
struct Carry {
    Expr value;  ///< of the point that joins: multiplies what stands before it
    Expr own;    ///< of the point; empty: 1
    Expr outer;  ///< of the result; empty: 1
    /// The same at each step: rounded once, it would be another rate. It and `own` are f64, unless
    /// they are integers.
    bool is_rate = false;
};

/// Knows such factors, with r a result and p a point:
///   prod[u | u > p && u <= r](a[u])   a product over the points between; its ends may be in or out
///   g^(r-p)                           powers, and `exp(k*(r-p))`, of any g and k
///   exp(x[p] - m[r])                  m the running maximum of x where that is finite, else 0, as
///                                     in a running `logsumexp`; likewise
///   exp(x[r] - m[p])                  as in its gradient
/// Nothing is divided by, and exponentials of the last form are carried on by factors of at most 1.
class CarriedFactors {
  public:
    CarriedFactors(EquationMaker& make, ProductFactors& factors)
        : make_(make), program_(make.program()), factors_(factors) {}

    /// Products and maxima that later equations may read.
    void note(const BoundEquation& equation);
    [[nodiscard]] std::optional<Carry> carry_of(Expr factor, const PrefixSum& sum);

  private:
    /// What of a running reduction an access reads: its body, over its own index, and its bounds.
    struct Running {
        Expr body;
        IndexId index{};
        std::vector<Prefix> bounds;
    };
    std::optional<Running> running(Expr e, Reducer reducer);

    std::optional<Carry> of_product(const Running& product, const PrefixSum& sum);
    std::optional<Carry> of_power(Expr factor, const PrefixSum& sum);
    std::optional<Carry> of_exponential(Expr factor, const PrefixSum& sum);
    std::optional<Carry> of_difference(Expr factor, Expr element, Expr greatest,
                                       const PrefixSum& sum);

    /// Of an affine term `step*(r-p) + …`: the step as a point joins, and the value at its own
    /// result.
    struct Steps {
        std::int64_t step = 0;
        std::int64_t own = 0;
    };
    std::optional<Steps> steps_of(Expr e, const PrefixSum& sum) const;

    static DType rate_type(Expr factor);
    /// The term with the point, or the result, somewhere else.
    Expr moved(Expr e, IndexId index, IndexId to, std::int64_t by);
    [[nodiscard]] bool is_free(Expr e, const PrefixSum& sum) const;
    /// Whether a carry, and a factor of points, can be evaluated wherever the walk needs them.
    [[nodiscard]] bool is_inside(const Carry& carry, const PrefixSum& sum);

    EquationMaker& make_;
    BoundProgram& program_;
    ProductFactors& factors_;
    std::map<TensorId, BoundEquation> reductions_;
};

}  // namespace ricci::codegen
