// codegen/result_tile.cpp – results that are summed side by side, because they share loads
#include "codegen/result_tile.h"

#include <algorithm>

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
            if (is_shared && !kernel.collides(axis.var) && !moves_with(loops, axis.var))
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

}  // namespace ricci::codegen
