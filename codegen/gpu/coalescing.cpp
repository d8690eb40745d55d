// codegen/gpu/coalescing.cpp – what the accesses of a warp cost, by the axes its lanes run over
#include "codegen/gpu/coalescing.h"

#include <algorithm>
#include <set>

#include "codegen/gpu/threads.h"

namespace ricci::codegen::gpu {

namespace {

constexpr std::int64_t sector_bytes = 32;
constexpr double sector_slots = 3;
/// A sector that the first cache holds already.
constexpr double cached_slots = 0.5;
constexpr std::int64_t most_lanes = 4;
constexpr std::int64_t most_vector_bytes = 16;

/// Where the threads of a warp stand, as steps of the axes.
class WarpPlaces {
  public:
    explicit WarpPlaces(const ThreadOrder& order) : order_(order) {}

    /// The address of a thread's first element, up to what is the same for all.
    [[nodiscard]] std::int64_t address(const Touch& touch, std::int64_t thread) const {
        std::int64_t place = 0;
        for (std::size_t i = order_.axes.size(); i-- > 0;) {
            const Axis& axis = order_.axes[i];
            const bool is_last = i + 1 == order_.axes.size();
            const std::int64_t steps = is_last ? ceil_div(axis.extent, order_.vector) : axis.extent;
            if (steps == 0) return place;
            const std::int64_t step = thread % steps * (is_last ? order_.vector : 1);
            place += step * touch.address.coefficient(axis.var);
            thread /= steps;
        }
        return place;
    }

  private:
    const ThreadOrder& order_;
};

class Access {
  public:
    Access(const Kernel& kernel, const Touch& touch, const ThreadOrder& order)
        : bytes_(std::int64_t(size_bytes(kernel.nest.at(touch.buffer).dtype))),
          touch_(touch),
          places_(order),
          vector_(order.vector),
          step_(order.axes.empty() ? 0 : touch.address.coefficient(order.axes.back().var)),
          is_vector_(!order.axes.empty() &&
                     is_vector_access(kernel, touch, order.axes.back().var, order.vector)) {}

    [[nodiscard]] double slots() const {
        // Data decide where each thread reads: nothing is shared.
        if (touch_.is_computed) return double(vector_) * (1 + sector_slots * double(warp));
        if (is_vector_ || step_ == 0 || vector_ == 1)
            return 1 + sector_slots * double(sectors(0, is_vector_ ? vector_ : 1));
        const double distinct = double(sectors(0, vector_));
        double touched = 0;
        for (std::int64_t l = 0; l < vector_; ++l) touched += double(sectors(l, l + 1));
        return double(vector_) + sector_slots * distinct + cached_slots * (touched - distinct);
    }

  private:
    /// Distinct sectors of the elements [from, to) of every thread.
    [[nodiscard]] std::size_t sectors(std::int64_t from, std::int64_t to) const {
        std::set<std::int64_t> found;
        for (std::int64_t thread = 0; thread < warp; ++thread) {
            const std::int64_t place = places_.address(touch_, thread);
            for (std::int64_t l = from; l < to; ++l)
                found.insert((place + l * step_) * bytes_ / sector_bytes);
        }
        return found.size();
    }

    std::int64_t bytes_;
    const Touch& touch_;
    WarpPlaces places_;
    std::int64_t vector_;
    std::int64_t step_;
    bool is_vector_;
};

}  // namespace

double access_slots(const Kernel& kernel, const std::vector<Touch>& touches,
                    const ThreadOrder& order) {
    double slots = 0;
    for (const Touch& touch : touches) slots += Access(kernel, touch, order).slots();
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
                             Vectors vectors) {
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
                                                       axes.size() == 1 && extent > vector);
            if (!fits || (vector > 1 && !pays)) break;
            ThreadOrder whole{outside, vector};
            whole.axes.insert(whole.axes.end(), inner.axes.begin(), inner.axes.end());
            const double slots = access_slots(kernel, touches, whole) / double(vector);
            if (!is_first && slots >= best.slots) continue;
            inner.vector = vector;
            best = {inner, slots};
            is_first = false;
        }
    }
    return best;
}

}  // namespace ricci::codegen::gpu
