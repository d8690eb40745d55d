// codegen/joined_indices.h – two indices that terms have in one form alone, as one index
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codegen/equation_maker.h"
#include "codegen/product_factors.h"
#include "dsl/bound.h"

namespace ricci::codegen {

/// `a_step*a + b_step*b`, of which `a_step` is 1 or -1.
struct JoinedIndices {
    IndexId a{};
    IndexId b{};
    std::int64_t a_step = 1;
    std::int64_t b_step = 1;
    IndexId joined{};  ///< stands for the form
};

/// Forms of two indices that stand in the terms, none of them `summed`; each may come several
/// times.
[[nodiscard]] std::vector<JoinedIndices> forms_of_two(const std::vector<Expr>& terms,
                                                      std::optional<IndexId> summed = {});

/// The values of the form; nothing where numbers are very large.
[[nodiscard]] std::optional<BoundIndex> values_of(const BoundProgram& program,
                                                  const JoinedIndices& form);

/// The terms with a new index of the program, `form.joined`, for the form. Nothing, and no index,
/// where some term has a or b otherwise, and where numbers are very large.
[[nodiscard]] std::optional<std::vector<Expr>> joined(EquationMaker& make, std::vector<Expr> terms,
                                                      JoinedIndices& form);
/// A term with `form.joined` for the form, without a and b if it has them in the form alone.
/// Makes new terms in the program's context.
[[nodiscard]] Expr with_joined(EquationMaker& make, Expr e, const JoinedIndices& form);

/// Takes what a condition of the index alone says as its range, which may become empty; false where
/// it says more than that, or of others.
bool take_as_range(BoundProgram& program, IndexId id, Expr condition);

/// How many values of the index conditions leave at most, for each of the others: 2 of `0 <= t-2*y
/// && t-2*y < 3`.
[[nodiscard]] std::int64_t most_values(const BoundProgram& program, Expr condition, IndexId id);

/// `blocks` of `length` points of a long window, and what they leave over.
struct WindowBlocks {
    std::int64_t blocks = 1;
    std::int64_t length = 1;
    std::int64_t rest = 0;
};
/// Blocks of very long windows are long, too: how often these are cut again.
inline constexpr int most_levels_of_blocks = 3;
/// Those of two points and more, and of two blocks and more, that cost least.
[[nodiscard]] std::optional<WindowBlocks> best_blocks(
    std::int64_t extent, const std::function<std::int64_t(const WindowBlocks&)>& cost);

/// Whether the equation is a reduction that may be taken index by index, in any order: a sum, a
/// product, a maximum or a minimum.
[[nodiscard]] bool joins_points(const BoundEquation& equation);
/// What is joined, as a product: in a sum what has the index apart from what does not; of other
/// reductions all is one factor.
[[nodiscard]] Product product_along(EquationMaker& make, const BoundEquation& equation, IndexId id);

}  // namespace ricci::codegen
