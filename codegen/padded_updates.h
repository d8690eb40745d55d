// codegen/padded_updates.h – updates of which some points write nothing
#pragma once

#include <optional>
#include <vector>

#include "codegen/equation_maker.h"

namespace ricci::codegen {

/// `O[pad(e)] += v`, which is bound as an update of the nearest element by nothing where `e` lies
/// outside,
///
///     O[clamp(e, 0, N-1)] += e >= 0 && e < N ? v : -0.0
///
/// taken apart.
struct PaddedUpdate {
    std::vector<Expr> at;         ///< the subscripts as they were
    std::vector<bool> is_padded;  ///< which of them may lie outside
    Expr value;                   ///< v
    Expr condition;               ///< what else the update asks for; empty: nothing
};
/// Nothing for any other equation. Makes new terms in the program's context.
[[nodiscard]] std::optional<PaddedUpdate> find_padded_update(EquationMaker& make,
                                                             const BoundEquation& equation);

}  // namespace ricci::codegen
