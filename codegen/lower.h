// codegen/lower.h – the strategies: each turns a kernel into steps of a plan
#pragma once

#include <optional>
#include <set>

#include "codegen/plan_builder.h"
#include "codegen/result_tile.h"
#include "codegen/row_chain.h"

namespace ricci::codegen {

/// Whether a long reduction may become two levels: what came from a split is not split again.
enum class Splitting : std::uint8_t { allowed, done };

/// From so many reduced points on, rows are read from memory rather than from a cache.
inline constexpr std::int64_t long_reduction = 256;

/// Of bodies that compute more, as an exponential does (20), loads are the least part, and what
/// they hold needs the registers: points that share loads do not run side by side. Columns of
/// gelu's derivative of 16384x768: 9.5 ms, and from 12 to 18 two rows at a time.
inline constexpr double most_shared_operations = 19;

/// How a kernel without tiles of two operands runs in lanes.
struct LanePlan {
    std::optional<Axis> axis;      ///< the axis whose points are lanes; none: scalar code
    bool is_reduced_axis = false;  ///< it is a reduced one: lanes are folded at the end
    bool is_masked = false;        ///< which points are summed moves with it: lanes are masked
    std::int64_t lanes = 1;
    ResultTile tile = {};  ///< of a reduced axis: results that are summed side by side
    double cycles = 0;     ///< estimate for the whole kernel
};
/// The cheapest axis to run in lanes, by an estimate of loads, stores and operations.
[[nodiscard]] LanePlan choose_lanes(const Kernel& kernel, const Target& target);
/// The cheapest of these axes, or none of them.
[[nodiscard]] LanePlan choose_lanes_among(const std::vector<Axis>& axes, const Kernel& kernel,
                                          const Target& target);

/// One pass over memory, fused, vectorised along the contiguous side.
void lower_pointwise(Kernel kernel, LanePlan lanes, PlanBuilder& builder);

/// Lanes over a free axis, the reduction serial inside; scalar code where no axis can be lanes.
void lower_strided_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder);

/// The same of long rows that stand far apart in memory: wide pieces of several rows at a time, the
/// results in scratch, in two levels where there are few pieces. False, and nothing done, for
/// others.
[[nodiscard]] bool lower_far_rows(const Kernel& kernel, const LanePlan& lanes, PlanBuilder& builder,
                                  Splitting splitting);

/// The reduced axis, if there is one, along which an operand is contiguous that is far from lane to
/// lane of the free axis `lane`, where another one is contiguous: sums over it by `lower_far_rows`
/// run in squares of both axes, of which the far operand is transposed in registers.
[[nodiscard]] std::optional<Axis> axis_of_squares(const Kernel& kernel, const Axis& lane,
                                                  std::int64_t lanes);

/// A sum over the lanes' axis too, where there would be such squares if it were a free one: as sums
/// for each of its points, then their sum. False, and nothing done, for others.
[[nodiscard]] bool lower_crossed_sum(const Kernel& kernel, const LanePlan& lanes,
                                     PlanBuilder& builder);

/// The kernel in two, along an axis whose results would share loads if its extent could be cut into
/// equal tiles, as that of 31 taps of a filter cannot: whole tiles, and what they leave over. Empty
/// where that is not cheaper than the lanes of the whole.
[[nodiscard]] std::vector<Kernel> split_into_tiles(const Kernel& kernel, const LanePlan& lanes,
                                                   const Target& target);

/// Lanes over a reduced axis, several vectors of partial results folded at the end of each row.
void lower_row_reduction(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder);

/// A reduction of two operands, tiled in registers. False, and nothing done, when the kernel is not
/// one, or when it is so small or thin that `otherwise` costs less.
[[nodiscard]] bool lower_contraction(const Kernel& written, const LanePlan& otherwise,
                                     PlanBuilder& builder, Splitting splitting);

/// Sums, products and extremes up to each point, or from it on, in one walk over the points. False,
/// and nothing done, for others.
[[nodiscard]] bool lower_scan(const Kernel& written, PlanBuilder& builder);

/// The kernel as serial loops over its axes, one task.
[[nodiscard]] Nest serial_nest(Kernel kernel);
/// The same as a step: for people to read.
void lower_serial(Kernel kernel, PlanBuilder& builder);

/// Kernels that pass over the same rows, as one. False, and nothing done, where they do better
/// apart.
[[nodiscard]] bool lower_row_chain(RowChain chain, PlanBuilder& builder);
/// The same of rows that lie side by side in memory, in lanes across them.
[[nodiscard]] bool lower_chain_across(RowChain chain, PlanBuilder& builder);
/// Whether a reduction over so many lanes, `results` side by side, is of rows so short that as many
/// as lanes are taken at a time: their lanes are folded side by side, and what is computed of their
/// results runs in lanes.
[[nodiscard]] bool are_short_rows(const Kernel& kernel, std::int64_t lanes, std::int64_t results);
/// Takes short rows so. False, and nothing done, where `are_short_rows` does not hold.
[[nodiscard]] bool lower_short_rows(const Kernel& kernel, const LanePlan& lanes,
                                    PlanBuilder& builder);

/// Marks plain stores along the axis into outputs larger than the caches that the kernel itself
/// does not read: they are written past the caches. What later kernels use is not, where the last
/// cache may keep it.
void stream_large_outputs(Kernel& kernel, const Axis& axis, std::int64_t lanes,
                          const Target& target, Schedule& schedule);

/// Lowers the kernels of a plan, in order; chains of rows become one kernel. Kernels still to be
/// made read the buffers `read_later`.
void lower(std::vector<Kernel> kernels, PlanBuilder& builder,
           const std::set<std::size_t>& read_later);

/// Chooses the strategy for a kernel and lowers it.
void lower(Kernel kernel, PlanBuilder& builder, Splitting splitting = Splitting::allowed);

/// Of what lengths the parts of a reduction in two levels may be.
enum class Chunks : std::uint8_t { any, equal };

/// Lowers a reduction of `cycles` in two levels, where it can do few `units` of work side by side:
/// chunks of its longest axis into a temporary, then their total. Chunks depend on extents and
/// costs alone. False, and nothing done, when one level keeps all threads busy and no
/// `least_chunks` are asked for, or the kernel cannot be split; nor where chunks are of unequal
/// lengths and only `equal` ones will do.
[[nodiscard]] bool lower_in_two_levels(const Kernel& kernel, std::int64_t units, double cycles,
                                       PlanBuilder& builder, std::int64_t least_chunks = 1,
                                       Chunks chunks = Chunks::any);

/// Lowers a reduction in lanes along a reduced axis in the order of memory: where other results
/// stand between the points of a reduced axis, each result would be read in short pieces from far
/// places, with nothing asked for in time. What each point gives is a temporary. False, and nothing
/// done, where pieces are long, or operands in a cache, or the kernel cannot be split.
[[nodiscard]] bool lower_in_order_of_memory(const Kernel& kernel, PlanBuilder& builder);

/// A sum over rows and over the few elements of a group, where the groups stand one behind the
/// other, as over pixels and the channels of a group, channels last: as sums of columns, then of
/// each group's. False, and nothing done, for others.
[[nodiscard]] bool lower_short_groups(const Kernel& kernel, const LanePlan& lanes,
                                      PlanBuilder& builder);

/// Cuts the axis that the result is contiguous in where the bounds of the reduced axes begin to
/// move with it, so that its core can run in lanes: first border, core, last border. Empty unless
/// there is such an axis whose core has at least `lanes` points.
[[nodiscard]] std::vector<Kernel> split_border(const Kernel& kernel, std::int64_t lanes);

}  // namespace ricci::codegen
