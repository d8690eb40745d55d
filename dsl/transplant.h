// dsl/transplant.h – terms of one context built again in another
#pragma once

#include <functional>

#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci {

/// Builds terms again in `to`, node by node and without clean-up, with other tensors and indices.
class Transplant {
  public:
    using Tensors = std::function<TensorId(TensorId)>;
    using Indices = std::function<IndexId(IndexId)>;
    Transplant(Context& to, Tensors tensors, Indices indices)
        : to_(to), tensors_(std::move(tensors)), indices_(std::move(indices)) {}

    /// The same term in the other context; empty for an empty one.
    Expr operator()(Expr root);

  private:
    Expr rebuilt(Expr e);

    Context& to_;
    Tensors tensors_;
    Indices indices_;
    ExprMap<Expr> done_;
};

/// The program in a context of its own, which may be built upon while others use the original.
[[nodiscard]] Program in_own_context(const Program& program);

}  // namespace ricci
