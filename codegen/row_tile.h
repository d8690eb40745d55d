// codegen/row_tile.h – rows of a reduction that are summed side by side because they share loads
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/lower.h"

namespace ricci::codegen {

/// `rows` neighbours of one free axis by `columns` of another, all in registers: some loads move
/// with the one axis alone, some with the other. The counts divide the extents.
struct RowTile {
    Axis row_axis;
    Axis column_axis;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    double loads = 0;  ///< of a row at one vector of points

    [[nodiscard]] std::int64_t count() const noexcept { return rows * columns; }
};

/// The tile of most rows to a load, lanes along the reduced axis; one row where none share.
[[nodiscard]] RowTile choose_row_tile(const Kernel& kernel, const Axis& lanes,
                                      const Target& target);

/// A reduction whose rows are contiguous in copies of some operands.
struct RowsOfCopies {
    Kernel kernel;
    std::vector<Kernel> copies;
    LanePlan lanes;
    double cycles = 0;  ///< of all of them
};

/// The kernel with transposed copies of those operands that are not contiguous along its reduced
/// axis: then rows share loads. Adds the copies' buffers. Nothing where `limit` cycles do as well.
[[nodiscard]] std::optional<RowsOfCopies> with_contiguous_rows(const Kernel& kernel, double limit,
                                                               PlanBuilder& builder);

}  // namespace ricci::codegen
