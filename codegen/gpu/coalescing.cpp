// codegen/gpu/coalescing.cpp – what the accesses of a warp cost, by the axes its lanes run over
#include "codegen/gpu/coalescing.h"

#include <algorithm>

#include "codegen/gpu/threads.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t sector_bytes = 32;
constexpr double sector_slots = 3;
/// A sector that the first cache holds already.
constexpr double cached_slots = 1;
constexpr std::int64_t most_lanes = 4;
constexpr std::int64_t most_vector_bytes = 16;

/// Points that a thread takes one after the other share sectors: so many are looked at together.
constexpr std::int64_t points_together = 4;

/// The address of a place in the row-major box of the axes, the last one in steps of `vector`.
std::int64_t address(const AffineForm& form, const std::vector<Axis>& axes, std::int64_t vector,
                     std::int64_t place) {
    std::int64_t found = 0;
    for (std::size_t i = axes.size(); i-- > 0;) {
        const std::int64_t step = i + 1 == axes.size() ? vector : 1;
        const std::int64_t steps = ceil_div(axes[i].extent, step);
        if (steps == 0) return found;
        found += place % steps * step * form.coefficient(axes[i].var);
        place /= steps;
    }
    return found;
}

class Access {
  public:
    Access(const Kernel& kernel, const Touch& touch, const ThreadOrder& order,
           const std::vector<Axis>& repeated)
        : bytes_(std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype))),
          touch_(touch),
          order_(order),
          step_(order.axes.empty() ? 0 : touch.address.coefficient(order.axes.back().var)),
          is_vector_(!order.axes.empty() &&
                     is_vector_access(kernel, touch, order.axes.back().var, order.vector)) {
        const std::int64_t count = std::clamp<std::int64_t>(points(repeated), 1, points_together);
        for (std::int64_t r = 0; r < count; ++r)
            repeats_.push_back(address(touch.address, repeated, 1, r));
    }

    /// For one of the repeated points.
    [[nodiscard]] double slots() const {
        const std::int64_t vector = order_.vector;
        // Data decide where each thread reads: nothing is shared.
        if (touch_.is_computed) return double(vector) * (1 + sector_slots * double(warp));
        const bool is_one = is_vector_ || step_ == 0;
        const std::int64_t width = step_ == 0 ? 1 : vector;
        double touched = 0;
        std::vector<std::int64_t> all;
        for (const std::int64_t repeat : repeats_)
            for (std::int64_t l = 0; l < (is_one ? 1 : vector); ++l)
                touched += double(add_sectors(all, repeat, l, is_one ? width : l + 1));
        const auto distinct = double(unique(all));
        const double total = sector_slots * distinct + cached_slots * (touched - distinct);
        return (is_one ? 1 : double(vector)) + total / double(repeats_.size());
    }

  private:
    static std::size_t unique(std::vector<std::int64_t>& sectors) {
        std::ranges::sort(sectors);
        const auto rest = std::ranges::unique(sectors);
        sectors.erase(rest.begin(), rest.end());
        return sectors.size();
    }

    /// Adds the sectors of the elements [from, to) of every thread; gives their number.
    std::size_t add_sectors(std::vector<std::int64_t>& all, std::int64_t repeat, std::int64_t from,
                            std::int64_t to) const {
        std::vector<std::int64_t> own;
        for (std::int64_t thread = 0; thread < warp; ++thread) {
            const std::int64_t place =
                repeat + address(touch_.address, order_.axes, order_.vector, thread);
            for (std::int64_t l = from; l < to; ++l)
                own.push_back((place + l * step_) * bytes_ / sector_bytes);
        }
        const std::size_t count = unique(own);
        all.insert(all.end(), own.begin(), own.end());
        return count;
    }

    std::int64_t bytes_;
    const Touch& touch_;
    const ThreadOrder& order_;
    std::int64_t step_;
    bool is_vector_;
    std::vector<std::int64_t> repeats_;  ///< how far the repeated points lie apart
};

}  // namespace

double access_slots(const Kernel& kernel, const std::vector<Touch>& touches,
                    const ThreadOrder& order, const std::vector<Axis>& repeated) {
    double slots = 0;
    for (const Touch& touch : touches) slots += Access(kernel, touch, order, repeated).slots();
    return slots;
}

std::vector<Touch> touches_of(const Kernel& kernel, Part part) {
    std::vector<Touch> found = touches(kernel);
    std::erase_if(found,
                  [&](const Touch& touch) { return touch.is_reduced != (part == Part::body); });
    return found;
}

bool is_vector_access(const Kernel& kernel, const Touch& touch, VarId axis, std::int64_t vector) {
    if (vector == 1) return true;
    const auto bytes = std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype));
    return !touch.is_computed && touch.address.coefficient(axis) == 1 &&
           vector * bytes <= most_vector_bytes &&
           known_divisor(kernel.nest, touch.buffer, touch.address, axis) % vector == 0;
}

CheapestOrder cheapest_order(const Kernel& kernel, const std::vector<Touch>& touches,
                             const std::vector<Axis>& outside, const std::vector<Axis>& axes,
                             Vectors vectors, const std::vector<Axis>& repeated) {
    CheapestOrder best;
    bool is_first = true;
    for (std::size_t fastest = std::max<std::size_t>(axes.size(), 1); fastest-- > 0;) {
        ThreadOrder inner{axes, 1};
        if (!axes.empty())
            std::rotate(inner.axes.begin() + std::ptrdiff_t(fastest),
                        inner.axes.begin() + std::ptrdiff_t(fastest) + 1, inner.axes.end());
        const std::int64_t widest = vectors == Vectors::none ? 1 : most_lanes;
        for (std::int64_t vector = 1; vector <= widest; vector *= 2) {
            const std::int64_t extent = axes.empty() ? 1 : inner.axes.back().extent;
            const bool pays = std::ranges::any_of(touches, [&](const Touch& touch) {
                return !axes.empty() &&
                       is_vector_access(kernel, touch, inner.axes.back().var, vector);
            });
            const bool fits = extent % vector == 0 || (vectors == Vectors::with_tail &&
                                                       axes.size() == 1 && extent >= warp * vector);
            if (!fits || (vector > 1 && !pays)) break;
            ThreadOrder whole{outside, vector};
            whole.axes.insert(whole.axes.end(), inner.axes.begin(), inner.axes.end());
            const double slots = access_slots(kernel, touches, whole, repeated) / double(vector);
            if (!is_first && slots >= best.slots) continue;
            inner.vector = vector;
            best = {inner, slots};
            is_first = false;
        }
    }
    return best;
}

}  // namespace ricci::codegen::gpu
