// codegen/lower_pointwise.cpp – one pass over memory, vectorised along the contiguous side
#include <algorithm>
#include <cstdlib>
#include <set>

#include "codegen/cache_lines.h"
#include "codegen/free_lanes.h"
#include "codegen/gathered_rows.h"
#include "codegen/interleave_vectors.h"
#include "codegen/kernel_work.h"
#include "codegen/lower.h"
#include "codegen/side_by_side.h"

namespace ricci::codegen {

namespace {

/// Outputs above this size do not stay in the caches: they are written past them. Measured gain of
/// 1.5 to 1.7 on copies of 64 MB, loss below the last level cache's share. Nor do smaller ones
/// where all that a kernel goes over is more than the last level holds: with 32 MB of it (Zen 4)
/// layer norm of 1024 rows of 4096 took 1.8 ms, past the caches 0.95, a sum of two arrays of 16
/// MB 1.2 and 0.85; both then read again 1.6 and 1.4.
constexpr std::int64_t streaming_bytes = 32 << 20;
/// What a later kernel uses is near for it in a part of the last level cache: the gradient of a
/// gather whose 51 MB of zeros are added to takes 10.9 ms of 16.0 where they are not streamed
/// (Xeon, `script/bench cpu --threads 1 "its gradient"`).
constexpr std::int64_t part_of_l3 = 4;

/// Of the arrays that a kernel reads and writes.
std::int64_t bytes_of_all(const Kernel& kernel) {
    std::set<BufferId> buffers;
    for (const Touch& touch : touches(kernel)) buffers.insert(touch.buffer);
    std::int64_t bytes = 0;
    for (const BufferId id : buffers) {
        const Buffer& buffer = kernel.nest.at(id);
        bytes += buffer.elements * std::int64_t(size_bytes(buffer.dtype));
    }
    return bytes;
}

/// Whether rows stand at places that are data, and all else runs along them, too.
bool reads_rows_alone(const Kernel& kernel, const LanePlan& lanes) {
    if (!lanes.axis || lanes.lanes < 2 || gathered_rows(kernel, *lanes.axis).empty()) return false;
    const std::vector<Touch> all = touches(kernel);
    return std::ranges::all_of(all, [&](const Touch& touch) {
        const std::int64_t step = touch.address.coefficient(lanes.axis->var);
        return step == 0 || step == 1;
    });
}

/// Whether rows of the results, and not those of what is read in squares, stand where they meet in
/// few sets of the caches and banks of memory: lines that are written one by one take longer then.
/// Of 512x20000 to its transpose took 8.7 ms, not 4.9, of 4096x3136 9.6, not 7.5; of 4096^2, whose
/// rows meet on both sides, 8.6, not 10.7 (Zen 3).
bool only_results_meet(const Kernel& kernel, const Axis& lane, const Axis& transposed) {
    const std::vector<Touch> all = touches(kernel);
    const auto meets = [&](const Touch& touch) {
        const std::int64_t step =
            touch.address.coefficient((touch.is_store ? transposed : lane).var);
        return step * std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype)) % sets_bytes ==
               0;
    };
    const auto is_read_far = [&](const Touch& touch) {
        return !touch.is_store && touch.address.coefficient(transposed.var) == 1 && !meets(touch);
    };
    return std::ranges::any_of(all,
                               [&](const Touch& each) { return each.is_store && meets(each); }) &&
           std::ranges::any_of(all, is_read_far);
}

/// The plan with lanes for whole lines in place of the plan's pieces, where outputs in squares may
/// be written past the caches then: their rows must begin with lines. Images of 51 MB take 4.3 ms
/// from channels last to first, not 8.2, and back 3.5, not 6.4 (Zen 3); where rows begin within
/// lines, or much is left over that no square takes, it takes longer. Code for 10 to 20 ms more.
std::optional<LanePlan> lanes_of_lines(const Kernel& kernel, const LanePlan& plan,
                                       const Target& target) {
    constexpr std::size_t least_bytes = 4;              // squares of 32 rows are long code
    constexpr std::int64_t least_columns_of_rest = 16;  // for each that is done point by point
    if (!plan.axis || plan.is_reduced_axis || plan.is_masked || kernel.writes.empty())
        return std::nullopt;
    LanePlan whole = plan;
    whole.lanes = 0;
    for (const Store& write : kernel.writes) {
        const std::size_t bytes = size_bytes(kernel.nest.at(write.buffer).dtype);
        if (bytes < least_bytes || !begins_lines(kernel.nest, write, *plan.axis))
            return std::nullopt;
        whole.lanes = std::max(whole.lanes, line_bytes / std::int64_t(bytes));
    }
    if (whole.lanes <= plan.lanes || plan.axis->extent % whole.lanes != 0) return std::nullopt;
    const auto transposed = transposed_axis(kernel, *plan.axis, whole.lanes, target);
    if (!transposed || only_results_meet(kernel, *plan.axis, *transposed)) return std::nullopt;
    const std::int64_t rest = transposed->extent % whole.lanes;
    const bool has_more_rest = rest > transposed->extent % plan.lanes;
    if (has_more_rest && least_columns_of_rest * rest > transposed->extent) return std::nullopt;
    return whole;
}

std::int64_t vectors_together(const Kernel& kernel, const LanePlan& lanes, const Target& target) {
    if (!lanes.axis || lanes.is_masked) return 1;
    std::vector<Value> values;
    for (const Store& write : kernel.writes) values.push_back(write.value);
    return interleaved_vectors({values, kernel.writes}, *lanes.axis, lanes.lanes, target);
}

}  // namespace

void stream_large_outputs(Kernel& kernel, const Axis& axis, std::int64_t lanes,
                          const Target& target, Schedule& schedule) {
    const std::int64_t least_bytes = bytes_of_all(kernel) >= target.l3_bytes
                                         ? std::min(streaming_bytes, target.l3_bytes / part_of_l3)
                                         : streaming_bytes;
    for (Store& write : kernel.writes) {
        const Buffer& buffer = kernel.nest.at(write.buffer);
        const std::int64_t bytes = buffer.elements * std::int64_t(size_bytes(buffer.dtype));
        if (write.combine || write.at.computed) continue;
        // Other stores are of vectors that lie across lines, and stay in the caches.
        if (write.at.affine.coefficient(axis.var) != 1 || !begins_lines(kernel.nest, write, axis))
            continue;
        bool is_read = false;
        bool has_squares = false;  // the next piece of a line comes later
        for (const Touch& touch : touches(kernel)) {
            is_read |= !touch.is_store && touch.buffer == write.buffer;
            has_squares |= !touch.is_store && std::abs(touch.address.coefficient(axis.var)) > 1;
        }
        const bool is_used =
            kernel.touched_later.contains(kernel.places.at(std::size_t(write.buffer)));
        // Slices use at once what they write.
        const bool is_near = bytes < target.l3_bytes / part_of_l3 || !kernel.slices.empty();
        if (is_used && is_near) continue;
        // A line that is written past the caches in pieces is read and written again for each: a
        // permutation of five dimensions by 8 lanes of f32 took 12.7 ms, without streaming 10.5.
        const bool has_pieces = lanes * std::int64_t(size_bytes(buffer.dtype)) < line_bytes;
        if (is_read || (has_squares && has_pieces)) continue;
        if (bytes < (has_squares || is_used ? streaming_bytes : least_bytes)) continue;
        write.hint = StoreHint::streaming;
        schedule.directives.push_back({"stream", buffer.name, {bytes >> 20}, "larger than caches"});
    }
}

void lower_pointwise(Kernel kernel, LanePlan lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::pointwise, kernel.nest.name, work_of(kernel)};
    if (const std::optional<LanePlan> whole = lanes_of_lines(kernel, lanes, builder.target())) {
        stream_large_outputs(kernel, *whole->axis, whole->lanes, builder.target(), schedule);
        if (!schedule.directives.empty()) lanes = *whole;
    } else if (lanes.axis) {
        stream_large_outputs(kernel, *lanes.axis, lanes.lanes, builder.target(), schedule);
    }
    std::int64_t vectors = vectors_together(kernel, lanes, builder.target());
    if (reads_rows_alone(kernel, lanes))
        vectors = side_by_side(piece_of_row(kernel, *lanes.axis, lanes.lanes), lanes.lanes);
    lower_free_lanes(kernel, lanes, vectors, {}, builder.target(), schedule);
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
