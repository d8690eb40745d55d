// dsl/equivalence.h – whether two programs say the same, statement by statement
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/program.h"

namespace ricci {

/// What tells two equations apart.
struct Difference {
    bool is_other_term = false;        ///< not equal up to the numbering of indices
    std::vector<IndexId> ranges = {};  ///< indices of the original whose range is another
    bool is_stricter = false;          ///< the other requires sizes to be equal that need not be
    [[nodiscard]] bool is_none() const { return !is_other_term && ranges.empty() && !is_stricter; }
};

/// What the original's things are called in the other program.
struct CommonNames {
    const std::vector<std::string>& tensors;                        ///< by TensorId
    const std::unordered_map<std::uint32_t, std::string>& indices;  ///< by IndexId
};

/// Compares two programs equation by equation: terms up to the numbering of indices, the order of a
/// sum's indices and the form of index arithmetic; ranges as formulas, up to the equalities of
/// sizes that the original guarantees. Terms are built in the original's context. An entry for each
/// equation of the original.
[[nodiscard]] std::vector<Difference> differences(const Program& original, const CommonNames& names,
                                                  const Program& other);

}  // namespace ricci
