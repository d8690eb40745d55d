// dsl/evaluate_size.h – extents and ranges as numbers, once sizes and scalars are known
#pragma once

#include <cstdint>
#include <vector>

#include "dsl/bound.h"
#include "dsl/walk.h"

namespace ricci {

/// Evaluates integer terms of sizes and scalars, and puts numbers in place of them in terms that
/// also hold indices.
class SizeEvaluator {
  public:
    /// `arguments` by position of tensor; entries of other tensors are not used.
    SizeEvaluator(const Program& program, std::vector<const ArgumentSpec*> arguments);

    /// Throws: `limit` when 64 bits overflow; `type` for a scalar that is no integer; `range` for a
    /// division by a number that is not positive.
    [[nodiscard]] std::int64_t value(Expr e);
    /// The term with sizes, and where `with_scalars` scalars too, replaced by integer literals.
    [[nodiscard]] Expr with_numbers(Expr e, bool with_scalars);
    /// The same for a subscript: scalars that only decide a choice in it stay.
    [[nodiscard]] Expr subscript_with_numbers(Expr e);
    /// The same for a condition: scalars that are no whole numbers, or not known, stay.
    [[nodiscard]] Expr condition_with_numbers(Expr condition);

  private:
    std::int64_t compute(Expr e);
    [[nodiscard]] std::optional<std::int64_t> compute(const Apply& apply, Expr e) const;
    std::int64_t scalar(TensorId id) const;
    bool is_whole(TensorId id) const;

    const Program& program_;
    std::vector<const ArgumentSpec*> arguments_;
    ExprMap<std::int64_t> known_;
};

}  // namespace ricci
