// codegen/kept_values.h – what the stages of a chain of rows compute once
#pragma once

#include <vector>

#include "codegen/row_chain.h"

namespace ricci::codegen {

/// What a stage computes at a point that others compute, too, or that is the same along the row.
struct StageNodes {
    std::vector<Value> kept;   ///< computed here for later stages, operands first
    std::vector<Value> found;  ///< of those of earlier stages
    std::vector<Value> even;   ///< the same at all points of a row
    std::vector<Value> read;   ///< loads that move along the row, but for those within kept values
};

/// Of each stage. Dear values are kept, those that later stages then find.
[[nodiscard]] std::vector<StageNodes> values_of_stages(const RowChain& chain);

/// What a stage computes at a point of the row: its body, or what it writes and where.
[[nodiscard]] std::vector<Value> roots_of(const RowStage& stage);

/// Whether a value moves along one of the axes.
[[nodiscard]] bool moves_along(const Value& value, const std::vector<Axis>& along);

}  // namespace ricci::codegen
