// codegen/keyed_way.cpp – how the values of each key are found
#include "codegen/keyed_way.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/inverse_index.h"
#include "codegen/segment_sums.h"

namespace ricci::codegen {

namespace {

/// From one kernel to the next, with the time in which few threads are at work.
constexpr double kernel = 4;
/// A point that waits for the one before it: a load and a store of memory.
constexpr double turn = 1;
/// Issue slots of a lane for a point that is looked at: load, compare, combine.
constexpr double look = 3;
/// For a point in a pass of the sort: the chunk before it, counts and running sums.
constexpr double pass_slots = 200;
/// Points and keys that can be numbered in memory.
constexpr double most = 1e12;
/// For an element of the result on a level: the edges of its segment.
constexpr double level_slots = 60;
/// Atomic additions of all slices of the L2 cache in a microsecond, and one after the other to one
/// element.
constexpr double additions = 5e4;
constexpr double additions_to_one = 1e3;

}  // namespace

double microseconds(KeyedWay way, const KeyedWork& work, const Target& target) {
    const double slots_a_microsecond = double(target.gpu.multiprocessors) * 128 * 1.7e3;
    switch (way) {
        case KeyedWay::search:
            return kernel + work.elements * work.searched * look / slots_a_microsecond;
        case KeyedWay::in_order: return 2 * kernel + work.points * turn;
        case KeyedWay::at_once:
            return 2 * kernel + work.points * work.row / additions +
                   work.points / work.segments / additions_to_one;
        case KeyedWay::inverse_index: {
            if (std::max(work.points, work.segments) > most) break;
            const auto points = static_cast<std::int64_t>(work.points);
            const int passes = InverseIndices::passes(static_cast<std::int64_t>(work.segments));
            const double sums = 2 * std::ceil(std::log2(work.points + 1) / 6);
            const int levels = segment_levels(points);
            const double slots = work.points * (passes * pass_slots + 2 * look * work.row) +
                                 work.segments * work.row * levels * level_slots;
            return kernel * (passes * (5 + sums) + 3 * levels) + slots / slots_a_microsecond;
        }
    }
    return std::numeric_limits<double>::infinity();
}

}  // namespace ricci::codegen
