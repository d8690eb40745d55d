// dsl/integer_facts.h – what is known of integer terms from the ranges of their indices
#pragma once

#include <cstdint>
#include <optional>

#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci {

/// Tells which terms are integers whatever the types of arrays: indices, sizes, integer literals,
/// and sums, products, quotients and extremes of these. Of bound terms, their type tells.
class IntegerTerms {
  public:
    /// Remembers what it finds: asked bottom-up, each question is answered from its operands.
    [[nodiscard]] bool contains(Expr e);

  private:
    [[nodiscard]] bool decide(Expr e);

    ExprMap<bool> known_;
};

/// Proved: the integer term is at least `least` at all points of the ranges of its indices,
/// whatever the sizes.
[[nodiscard]] bool is_at_least(const Program& program, Expr e, std::int64_t least);

/// Whether a comparison of integer terms holds at all points (true), at none (false), or neither is
/// proved.
[[nodiscard]] std::optional<bool> decide_comparison(const Program& program, Op op, Expr a, Expr b);

}  // namespace ricci
