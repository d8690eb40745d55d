// codegen/lower_pointwise.cpp – one pass over memory, vectorised along the contiguous side
#include <algorithm>

#include "codegen/cache_lines.h"
#include "codegen/free_lanes.h"
#include "codegen/gathered_rows.h"
#include "codegen/interleave_vectors.h"
#include "codegen/kernel_work.h"
#include "codegen/lower.h"

namespace ricci::codegen {

namespace {

/// Outputs above this size do not stay in the caches: they are written past them. Measured gain of
/// 1.5 to 1.7 on copies of 64 MB, loss below the last level cache's share.
constexpr std::int64_t streaming_bytes = 32 << 20;
/// What a later kernel uses is near for it in a part of the last level cache: the gradient of a
/// gather whose 51 MB of zeros are added to takes 10.9 ms of 16.0 where they are not streamed
/// (Xeon, `script/bench cpu --threads 1 "its gradient"`).
constexpr std::int64_t part_of_l3 = 4;

/// Whether rows stand at places that are data, and all else runs along them, too.
bool reads_rows_alone(const Kernel& kernel, const LanePlan& lanes) {
    if (!lanes.axis || lanes.lanes < 2 || gathered_rows(kernel, *lanes.axis).empty()) return false;
    const std::vector<Touch> all = touches(kernel);
    return std::ranges::all_of(all, [&](const Touch& touch) {
        const std::int64_t step = touch.address.coefficient(lanes.axis->var);
        return step == 0 || step == 1;
    });
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
    for (Store& write : kernel.writes) {
        const Buffer& buffer = kernel.nest.at(write.buffer);
        const std::int64_t bytes = buffer.elements * std::int64_t(size_bytes(buffer.dtype));
        if (bytes < streaming_bytes || write.combine || write.at.computed) continue;
        if (write.at.affine.coefficient(axis.var) != 1) continue;
        bool is_read = false;
        bool has_squares = false;  // the next piece of a line comes later
        for (const Touch& touch : touches(kernel)) {
            is_read |= !touch.is_store && touch.buffer == write.buffer;
            has_squares |= !touch.is_store && touch.address.coefficient(axis.var) > 1;
        }
        const std::size_t place = kernel.places.at(std::size_t(write.buffer));
        // Slices use at once what they write.
        const bool is_near = bytes < target.l3_bytes / part_of_l3 || !kernel.slices.empty();
        if (kernel.touched_later.contains(place) && is_near) continue;
        // A line that is written past the caches in pieces is read and written again for each: a
        // permutation of five dimensions by 8 lanes of f32 took 12.7 ms, without streaming 10.5.
        const bool has_pieces = lanes * std::int64_t(size_bytes(buffer.dtype)) < line_bytes;
        if (is_read || (has_squares && has_pieces)) continue;
        write.hint = StoreHint::streaming;
        schedule.directives.push_back({"stream", buffer.name, {bytes >> 20}, "larger than caches"});
    }
}

void lower_pointwise(Kernel kernel, const LanePlan& lanes, PlanBuilder& builder) {
    Schedule schedule{Strategy::pointwise, kernel.nest.name, work_of(kernel)};
    if (lanes.axis)
        stream_large_outputs(kernel, *lanes.axis, lanes.lanes, builder.target(), schedule);
    std::int64_t vectors = vectors_together(kernel, lanes, builder.target());
    if (reads_rows_alone(kernel, lanes))
        vectors = side_by_side(piece_of_row(kernel, *lanes.axis, lanes.lanes), lanes.lanes);
    lower_free_lanes(kernel, lanes, vectors, {}, builder.target(), schedule);
    builder.add_step(std::move(kernel), std::move(schedule));
}

}  // namespace ricci::codegen
