// codegen/kernel_places.cpp – which buffers of a plan kernels read and write
#include "codegen/kernel_places.h"

#include <algorithm>
#include <utility>

namespace ricci::codegen {

Places places_of(const Kernel& kernel) {
    Places places;
    for (const Touch& touch : touches(kernel))
        (touch.is_store ? places.writes : places.reads)
            .insert(kernel.places.at(std::size_t(touch.buffer)));
    return places;
}

bool meet(const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
    return std::ranges::any_of(a, [&](std::size_t place) { return b.contains(place); });
}

bool are_independent(const Places& a, const Places& b) {
    return !meet(a.writes, b.reads) && !meet(a.writes, b.writes) && !meet(a.reads, b.writes);
}

void take_followers(const std::vector<Kernel>& kernels, std::size_t first,
                    const std::function<bool(std::size_t kernel)>& take) {
    constexpr std::size_t most_overtaken = 8;
    std::vector<Places> overtaken;
    for (std::size_t k = first + 1; k < kernels.size() && overtaken.size() < most_overtaken; ++k) {
        if (kernels[k].writes.empty()) continue;
        Places own = places_of(kernels[k]);
        const bool may_move = std::ranges::all_of(
            overtaken, [&](const Places& other) { return are_independent(own, other); });
        if (!may_move || !take(k)) overtaken.push_back(std::move(own));
    }
}

bool is_rows_against_columns(const Kernel& kernel) {
    std::vector<Touch> loads = touches(kernel);
    std::erase_if(loads, [](const Touch& touch) { return !touch.is_reduced; });
    const auto moves = [](const Touch& touch, const std::vector<Axis>& axes) {
        return std::ranges::any_of(
            axes, [&](const Axis& axis) { return touch.address.coefficient(axis.var) != 0; });
    };
    std::erase_if(loads, [&](const Touch& touch) { return !moves(touch, kernel.reduced); });
    const auto has_own_row = [&](const Touch& a, const Touch& b) {
        return std::ranges::any_of(kernel.free, [&](const Axis& axis) {
            return a.address.coefficient(axis.var) != 0 && b.address.coefficient(axis.var) == 0;
        });
    };
    return std::ranges::any_of(loads, [&](const Touch& a) {
        return std::ranges::any_of(
            loads, [&](const Touch& b) { return has_own_row(a, b) && has_own_row(b, a); });
    });
}

}  // namespace ricci::codegen
