// dsl/print_names.h – names for printing: one for each thing, apart where they meet
#pragma once

#include <vector>

#include "dsl/print_term.h"

namespace ricci {

/// A name for each tensor: versions share theirs, different tensors of one name get a suffix `_`.
[[nodiscard]] std::shared_ptr<const TensorNames> tensor_names(const Program& program);

/// Names the indices of terms: those of `free`, then those bound in the terms. An index whose name
/// is taken by a tensor, a free index or a reducer around or inside its own gets a number.
void name_indices(PrintNames& names, const Program& program, const std::vector<IndexId>& free,
                  const std::vector<Expr>& terms);

}  // namespace ricci
