// dsl/typing.h – types of terms: promotion, weak literals, explicit conversions
#pragma once

#include <vector>

#include "dsl/bound.h"
#include "dsl/walk.h"

namespace ricci {

/// Types terms of an equation (docs/language.md §5): every node of the result has a dtype, operands
/// of arithmetic have the node's own, conversions are Cast nodes.
class Typing {
  public:
    /// `program` is canonical with numbers in place of sizes; `tensors` are typed as far as the
    /// equations went.
    Typing(const Program& program, const std::vector<BoundTensor>& tensors);

    struct Typed {
        Expr term;
        bool is_weak = false;  ///< adopts the type it meets: literals, index values, numbers
    };
    /// Throws: `type` where the operands of an operation have no common type.
    [[nodiscard]] Typed type(Expr e);
    /// The term converted to the dtype; literals are converted here and now.
    [[nodiscard]] Expr convert(Expr term, DType dtype);
    /// The term as a truth value.
    [[nodiscard]] Expr truth(Expr term);

  private:
    Typed type_node(Expr e);
    Typed apply(const Apply& apply, Expr e);
    Typed common(const std::vector<Typed>& operands, Expr e) const;
    [[nodiscard]] Typed of(Expr operand) const { return known_.at(operand); }

    const Program& program_;
    const std::vector<BoundTensor>& tensors_;
    Context& context_;
    ExprMap<Typed> known_;
};

/// The type a reduction of values of `dtype` is accumulated in: sums and products of integers and
/// bool in 64 bits, half precision in f32.
[[nodiscard]] DType accumulator_type(Reducer reducer, DType dtype) noexcept;

}  // namespace ricci
