// dsl/gather_check.h – equations that find out whether data keeps to what a program relies on
#pragma once

#include <vector>

#include "dsl/bound.h"
#include "dsl/lower_access.h"
#include "dsl/typing.h"

namespace ricci {

/// Adds checks to a program being bound, each in front of the equation that relies on it.
class GatherChecks {
  public:
    /// `labels` gives the place in the source of a subscript as it is written.
    GatherChecks(const Program& program, BoundProgram& bound, Typing& typing,
                 const ExprMap<Diagnosis>& labels)
        : program_(program), bound_(bound), typing_(typing), labels_(labels) {}

    /// Checks that a gathered subscript stays inside, over the points of `domain`. None is added
    /// where the types of the data, or the lack of points, tell.
    void add_inside(const GatherSite& site, const std::vector<IndexId>& domain, Span statement);
    /// Checks that the points of the equation, which overwrites elements, name different ones.
    void add_distinct(const BoundEquation& equation, Span statement);
    /// Adds the equation of a verdict, the points of reductions less one, unless that is never
    /// negative.
    void add_has_points(BoundEquation verdict, const Diagnosis& otherwise);
    /// Moves every check as far to the front as what it reads allows, so that nothing is computed,
    /// and nothing written, before it fails, and drops those that earlier ones cover.
    void hoist();

  private:
    Expr integer(std::int64_t value) const;
    Expr operate(Op op, Expr a, Expr b) const;
    [[nodiscard]] bool is_covered(const BoundCheck& check,
                                  const std::vector<BoundCheck>& checks) const;
    [[nodiscard]] bool is_kept_inside(Expr guard, Expr subscript, const GatherSite& site) const;
    [[nodiscard]] bool has_values_of(Expr wide, Expr narrow) const;
    Expr narrow_verdict(Expr subscript, const GatherSite& site) const;
    std::vector<Expr> huge_values(Expr subscript) const;
    void add(BoundCheck check, Expr verdict);
    TensorId add_tensor(std::string name, Shape shape);
    Expr point_number(const std::vector<IndexId>& indices) const;
    Diagnosis diagnosis(Expr written, Span statement) const;

    const Program& program_;
    BoundProgram& bound_;
    Typing& typing_;
    const ExprMap<Diagnosis>& labels_;
};

}  // namespace ricci
