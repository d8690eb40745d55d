// codegen/tile_prefetch.h – what a tile of a contraction reads soon, asked for ahead
//
// A multiply-add whose operand is not yet in the first-level cache is issued in vain and again
// later, in place of others: misses cost throughput even where many are under way. Requests ahead
// bring in time what the second-level cache holds. One thread of an Intel Xeon (Sapphire Rapids)
// before and with them, and with rows packed side by side: 1024x784 by 784x1024, rows transposed,
// 10.3 and 9.1 ms; 16x1024 by 1024x1024 0.45 and 0.34; convolution 3x3 of 64 channels 12.3 and 11.3
// (bench_cpu --threads 1 "1024x784x1024 TN" "16x1024x1024 NN" "3x3 64 forward").
#pragma once

#include <vector>

#include "codegen/contraction_choice.h"
#include "codegen/contraction_sources.h"
#include "codegen/tasks.h"

namespace ricci::codegen {

/// Elements side by side that a tile reads of an operand at a reduced point.
struct TileRun {
    BufferId buffer{};
    AffineForm first;
    std::int64_t elements = 0;
    bool is_packed = false;
};
/// Adds what a tile reads of an operand where that stands side by side: in place along `along`,
/// from where `first` leads to, or in panel `tile` at point `depth`.
void add_run(std::vector<TileRun>& runs, const Source& source, const AffineForm& tile,
             const AffineForm& depth, const Substitution& first, const Axis& along);

/// Adds requests for what is read some points later to those inside of 0, 1, 2 of the tile's loops
/// over reduced points, and so on. None where the first-level cache keeps all that the tile reads
/// for the next one, where few rows use a line of columns, of runs that move on by less than a
/// quarter of a line, and with short vectors of panels.
void prefetch_ahead(Kernel& kernel, const ContractionChoice& choice,
                    const std::vector<TileRun>& runs, const std::vector<AxisRange>& loops,
                    const Target& target, std::vector<Body>& requests);

/// What a tile reads of one side at a reduced point: `elements` of its operands along an axis.
struct SideInPlace {
    const std::vector<Source>& sources;
    const Axis& along;
    std::int64_t elements = 0;
};

/// Requests, as far as the second-level cache, for the places to which a substitution leads, in
/// operands that are read where they stand in arrays much larger than that cache.
[[nodiscard]] Body prefetch_far(Kernel& kernel, const SideInPlace& side, const Substitution& next,
                                const Target& target);

/// Those for what the tile that a substitution leads to reads of the next product of a batch, as
/// the chunks of a long sum are. None where that cache does not hold two
/// products. The last product of the innermost axis asks in vain, at worst. One thread of
/// Zen 4 with and without them: columns of 50000x64 by one another 3.7 and 4.7 ms, of 60000x96 9.9
/// and 11.1, 1000 products of 64x64, left sides transposed, 5.0 and 7.3 (`ricci bench --threads 1
/// 'C[b,i,j] := A[b,k,i]*B[b,k,j]' A=1000x64x64 B=1000x64x64`).
[[nodiscard]] Body prefetch_product(Kernel& kernel, const std::vector<Axis>& batch,
                                    const SideInPlace& columns, const SideInPlace& rows,
                                    const Substitution& here, const Target& target);

}  // namespace ricci::codegen
