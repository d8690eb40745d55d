// codegen/side_by_side.h – points of one more axis that lanes over a free axis sum side by side
//
// Points that share loads of other operands, as the images of a batch share weights; or points
// whose windows overlap: of `sum[u](x[t-u]*w[u])` seven points t read eleven rows of x instead of
// 35. With t = T*b + r and u = q + r the row that is read depends on b and q alone: it is loaded
// once, and row r takes it where q + r is a place of the window. Windows may be some points apart,
// as those of `x[2*t+u]` with u = q - 2*r, and what they read may be guarded
// (`codegen/guarded_reads`), as of padded arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codegen/lower.h"

namespace ricci::codegen {

/// Points side by side whose windows overlap.
struct Windows {
    Axis rows;                       ///< a free axis of the kernel: all its points
    Axis point;                      ///< the last reduced axis, over all windows of a block
    std::vector<AffineForm> where;   ///< at least 0 where there is something at the point
    std::vector<AffineForm> inside;  ///< at least 0 where the row's window has the reduced point
    std::vector<Value> reads;        ///< of the body, along the lanes: the same for all rows
    std::vector<Value> weights;      ///< loads that differ from row to row, the same for all lanes
    std::int64_t unroll = 1;         ///< vectors of each row that are summed side by side
};
/// Whether registers hold what windows share beside their sums.
[[nodiscard]] bool may_share_windows(const Target& target);
/// Splits a free axis of a kernel so that its windows share what they load, if that pays: the free
/// axis is one of blocks then, and a reduced one goes over all windows of a block. Up to
/// `most_unroll` vectors of a row side by side, fewer where more rows share more then.
[[nodiscard]] std::optional<Windows> share_windows(Kernel& kernel, const LanePlan& lanes,
                                                   std::int64_t most_unroll, const Target& target);

/// The free axis, of those that may be rows, whose points share most of what a kernel touches; 2 to
/// `most` of them divide its extent.
[[nodiscard]] std::optional<Axis> most_sharing_axis(
    const Kernel& kernel, const Axis& lane, const std::vector<Touch>& touches, std::int64_t most,
    const std::function<bool(const Axis&)>& may_be_rows);

/// Whether a long sum reads, along the lanes, what is the same at all points of the axis.
[[nodiscard]] bool shares_long_reads(const Kernel& kernel, const Axis& lane, const Axis& axis,
                                     const std::vector<Touch>& touches);

/// A short free axis whose points stores have between those of neighbouring lanes, as the places of
/// a turn that the lanes' axis counts: where each pass over the lanes takes them all, lines are
/// written once.
[[nodiscard]] std::optional<Axis> axis_between_lanes(const Kernel& kernel, const Axis& lane);

/// The free axis along which a load is contiguous that is far along the lanes, if as many of its
/// points as there are lanes make a square, which emitters transpose in registers.
[[nodiscard]] std::optional<Axis> transposed_axis(const Kernel& kernel, const Axis& lane,
                                                  std::int64_t lanes, const Target& target);

/// A reduction of few points that reads rows: between what one lane and the next read of an array
/// stand all reduced points, and those of a free axis, if it has one. Written out, they are read as
/// they stand in memory (codegen/rows_of_lanes).
struct RowsOfLanes {
    std::optional<Axis> axis;  ///< whose points are summed side by side
    std::int64_t columns = 0;  ///< elements of the longest row
};
[[nodiscard]] std::optional<RowsOfLanes> find_rows_of_lanes(const Kernel& kernel, const Axis& lane,
                                                            const Target& target);

/// The largest number up to `most` that divides the extent.
[[nodiscard]] std::int64_t divisor_up_to(std::int64_t extent, std::int64_t most);

}  // namespace ricci::codegen
