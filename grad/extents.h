// grad/extents.h – what is known of sizes: which are equal, and which forms are never negative
#pragma once

#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci::grad {

/// Knowledge of a program's sizes from the equalities that binding requires.
class Extents {
  public:
    explicit Extents(const Program& program);

    /// Learns that two extents are equal.
    void equate(Expr a, Expr b);
    /// The extent in a form that is the same for all extents known to be equal.
    [[nodiscard]] Expr normal(Expr extent) const;
    [[nodiscard]] bool are_equal(Expr a, Expr b) const { return normal(a) == normal(b); }
    /// The extent, and the sizes known to equal it.
    [[nodiscard]] std::vector<Expr> all_equal(Expr extent) const;
    /// Proved: the integer term is >= 0 at all points of the ranges of its indices.
    [[nodiscard]] bool is_never_negative(const Program& program, Expr e) const;
    /// Proved: the subscript lies in [0, extent) at all points.
    [[nodiscard]] bool is_inside(const Program& program, Expr subscript, Expr extent) const;

    /// Says that an extent is to be written in another way where it is not a plain size: the
    /// output's `size(dO, 0)` instead of `size(A, 0) - size(F, 0) + 1`. What has to equal a number
    /// is written as that.
    void write_as(Expr extent, Expr preferred);
    [[nodiscard]] Expr preferred(Expr extent) const;

  private:
    Context* context_;
    ExprMap<Expr> equal_;      ///< atom → the normal form of its class
    ExprMap<Expr> preferred_;  ///< normal form → how to write it
};

}  // namespace ricci::grad
