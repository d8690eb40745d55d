// codegen/result_tile.cpp – results that are summed side by side, because they share loads
#include "codegen/result_tile.h"

#include <algorithm>
#include <vector>

#include "codegen/data_intervals.h"
#include "codegen/fold_indices.h"
#include "codegen/lower.h"

namespace ricci::codegen {

namespace {

bool moves(const Touch& touch, VarId var) {
    return touch.address.coefficient(var) != 0 ||
           (touch.is_computed && depends_on(touch.computed, var));
}

class Search {
  public:
    Search(const Kernel& kernel, const ReducedLoops& loops, std::int64_t most) : most_(most) {
        for (Touch& touch : touches(kernel))
            if (touch.is_reduced) loads_.push_back(std::move(touch));
        for (const Axis& axis : kernel.free) {
            const bool is_shared = std::ranges::any_of(
                loads_, [&](const Touch& load) { return !moves(load, axis.var); });
            if (is_shared && !kernel.collides(axis.var) && !moves_with(loops, axis.var) &&
                !has_interval(kernel, axis.var))
                axes_.push_back(axis);
        }
        fewest_ = double(loads_.size());
    }

    ResultTile run() {
        extend(axes_.size());
        return best_;
    }

  private:
    /// Of equal tiles that along inner axes: what it loads is near.
    void extend(std::size_t axes) {
        if (axes == 0) {
            double loads = 0;
            for (const Touch& load : loads_) loads += 1 / double(tile_.results_of(load));
            if (loads >= fewest_) return;
            fewest_ = loads;
            best_ = tile_;
            return;
        }
        const Axis& axis = axes_[axes - 1];
        const std::int64_t fit = most_ / tile_.results();
        for (std::int64_t points = std::min(fit, axis.extent); points > 1; --points) {
            if (axis.extent % points != 0) continue;
            tile_.axes.push_back({axis, points});
            extend(axes - 1);
            tile_.axes.pop_back();
        }
        extend(axes - 1);
    }

    std::int64_t most_;
    std::vector<Touch> loads_;  ///< of each reduced point
    std::vector<Axis> axes_;    ///< that may be tiled
    ResultTile tile_;
    ResultTile best_;
    double fewest_ = 0;  ///< loads a result
};

/// The largest divisor of an extent up to a number.
std::int64_t largest_divisor(std::int64_t extent, std::int64_t most) {
    std::int64_t divisor = std::min(extent, most);
    while (extent % divisor != 0) --divisor;
    return divisor;
}

}  // namespace

std::int64_t ResultTile::results() const {
    std::int64_t count = 1;
    for (const TileAxis& each : axes) count *= each.points;
    return count;
}

std::int64_t ResultTile::results_of(const Touch& touch) const {
    std::int64_t count = 1;
    for (const TileAxis& each : axes)
        if (!moves(touch, each.axis.var)) count *= each.points;
    return count;
}

ResultTile choose_result_tile(const Kernel& kernel, const ReducedLoops& loops, std::int64_t most) {
    if (kernel.is_arg_reduction()) return {};
    return Search(kernel, loops, most).run();
}

std::vector<Kernel> split_into_tiles(const Kernel& kernel, const LanePlan& lanes,
                                     const Target& target) {
    // Results of a tile that are worth a kernel more.
    constexpr std::int64_t least_results = 8;
    constexpr double least_gain = 0.8;
    const std::int64_t most = target.vector_registers * 7 / 8;
    if (kernel.is_arg_reduction() || kernel.has_meeting_writes() || points(kernel.reduced) == 0)
        return {};
    for (std::size_t n = 0; n < kernel.free.size(); ++n) {
        const std::int64_t extent = kernel.free[n].extent;
        if (extent <= most || largest_divisor(extent, most) >= least_results) continue;
        const std::int64_t tiles = (extent + most - 1) / most;
        const std::int64_t points = (extent + tiles - 1) / tiles;
        const std::int64_t whole = extent / points * points;
        std::vector<Kernel> parts = {slice(kernel, n, 0, whole, "_tiles"),
                                     slice(kernel, n, whole, extent, "_rest")};
        double cycles = 0;
        bool are_along = true;
        for (const Kernel& part : parts) {
            const LanePlan plan = choose_lanes(part, target);
            are_along &= plan.is_reduced_axis && plan.tile.results() > 1;
            cycles += plan.cycles;
        }
        if (are_along && cycles < least_gain * lanes.cycles) return parts;
    }
    return {};
}

}  // namespace ricci::codegen
