// grad/active.h – which terms change with the tensors that derivatives are wanted for
#pragma once

#include <vector>

#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci::grad {

/// Which tensors depend on an argument whose derivative is wanted, by position.
using Active = std::vector<bool>;

/// The nodes of a term that depend, to first order, on active tensors, operands first.
class ActiveNodes {
  public:
    ActiveNodes(Expr term, const Active& active);

    [[nodiscard]] const std::vector<Expr>& in_order() const noexcept { return nodes_; }
    [[nodiscard]] bool contain(Expr e) const { return members_.contains(e); }

  private:
    [[nodiscard]] bool is_active(Expr e, const Active& active) const;

    std::vector<Expr> nodes_;
    ExprMap<bool> members_;
};

/// Whether the value of the term changes, to first order, with an active tensor.
[[nodiscard]] bool depends_on(Expr term, const Active& active);

/// What is differentiated, and where it stands for errors.
struct Differentiated {
    Expr term;   ///< free of Reduce
    Expr saved;  ///< a read that holds the term's value, or empty
    Span span;
    bool is_complex = false;  ///< see Step
};

/// The error that the operation has no derivative that the language can say.
[[nodiscard]] Error no_derivative(const Program& program, const Apply& apply, Span span);
/// Throws: `limit` for a product so long that the derivatives by all its factors are too large.
void require_short(const Program& program, const ActiveNodes& nodes, const Apply& product,
                   Span span);

}  // namespace ricci::grad
