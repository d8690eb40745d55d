// codegen/point_loops.h – the loops over reduced points in a tile of a contraction
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/contraction_sources.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

/// What stands inside of so many loops (0: of none) before the next one or, in the last, before the
/// body.
struct BeforePoints {
    std::vector<Body> requests;  ///< prefetches, which may come earlier
    std::vector<Body> others;

    explicit BeforePoints(std::size_t loops) : requests(loops + 1), others(loops + 1) {}
};

/// The number of loops, outermost first, up to the last one along which a tile with rows along some
/// axes reads elements again, of rows that it reads where they stand.
[[nodiscard]] std::size_t loops_that_share_rows(const std::vector<AxisRange>& loops,
                                                const std::vector<Source>& rows,
                                                const std::vector<Axis>& tile);

/// Which loops are written out.
struct WrittenOut {
    std::size_t kept = 0;            ///< so many first loops, though of few points, are not
    std::vector<VarId> always = {};  ///< whatever their bounds, which each point tests
};

/// Serial loops around the body of a point, the first outermost. Of short vectors innermost loops
/// of few points together are written out; their requests come before all of them: past a branch
/// between two points LLVM moves operations whose operands it then keeps in memory.
[[nodiscard]] Body over_points(const std::vector<AxisRange>& loops, BeforePoints before, Body body,
                               const WrittenOut& written, const Target& target);

}  // namespace ricci::codegen
