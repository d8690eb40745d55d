// codegen/chain_lanes.h – which lanes all stages of a chain of rows have in common
#pragma once

#include <cstdint>

#include "codegen/lower.h"
#include "codegen/row_chain.h"

namespace ricci::codegen {

enum class LanesOfChain : std::uint8_t {
    along_rows,   ///< elements of a row
    across_rows,  ///< rows that lie side by side
};

/// What may be a stage of a chain: what runs in such lanes. Refers to the target.
[[nodiscard]] ChainRules chain_rules(const Target& target, LanesOfChain lanes);

/// Joins axes that all stages walk as one.
void merge_axes(RowChain& chain);

/// The axis of such lanes that suits all stages; none where they differ.
[[nodiscard]] LanePlan common_lanes(const RowChain& chain, LanesOfChain lanes,
                                    const Target& target);

}  // namespace ricci::codegen
