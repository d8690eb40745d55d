// dsl/implied_sums.h – the Einstein convention: sums over the indices that a term alone has
#pragma once

#include <vector>

#include "dsl/program.h"
#include "dsl/walk.h"

namespace ricci {

/// The term as one in a sum, though it is a sum itself, until sums are implied: what a function of
/// the user makes.
[[nodiscard]] Expr grouped(Context& context, Expr sum);

/// Makes the implied reductions of a right side explicit (docs/language.md §2): with `:= = += -=`
/// each top-level term is summed over its indices that `target_indices` lacks; with `*= max= min=`
/// the operator's reduction takes the whole right side. The binding's indices are `bound`, in
/// order. `spans` gains the accesses of terms whose indices were renamed.
/// Throws: `syntax` when a sum could be read in two ways, or a reducer binds a summed name again.
struct ImpliedSums {
    Expr value;
    std::vector<IndexId> bound;
};
[[nodiscard]] ImpliedSums imply_sums(Program& program, Expr value, Assign op,
                                     const std::vector<IndexId>& target_indices,
                                     const ExprMap<Span>& spans, ExprMap<Expr>& renamed);

}  // namespace ricci
