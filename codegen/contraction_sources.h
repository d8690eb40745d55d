// codegen/contraction_sources.h – where the tiles of a contraction read its operands
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/contraction_choice.h"
#include "codegen/pack.h"
#include "codegen/plan_builder.h"

namespace ricci::codegen {

/// A row or column operand where the tile reads it.
struct Source {
    Value term;
    std::optional<Panels> panels = {};  ///< none: read where it stands
    BufferId buffer{};                  ///< of the panels
    BufferId line{};                    ///< registers of a column operand's line
};

/// What panels are made by.
struct SourcePlacing {
    const ContractionChoice& choice;
    const Tiling& rows;
    const Tiling& columns;
    bool are_conditions_packed = false;  ///< panels hold only the points that count
    std::int64_t least_tasks = 1;        ///< of the kernels that pack
};

/// The sources of the row operands and of the column operands; adds the steps that pack them,
/// makes their buffers arguments of the kernel, and says what is read in place.
[[nodiscard]] std::pair<std::vector<Source>, std::vector<Source>> place_sources(
    Kernel& kernel, const SourcePlacing& placing, Schedule& schedule, PlanBuilder& builder);

/// Whether all that moves with the reduced axes is read from panels.
[[nodiscard]] bool is_all_packed(const Kernel& kernel, const Value& body,
                                 const std::vector<Source>& rows,
                                 const std::vector<Source>& columns);

}  // namespace ricci::codegen
