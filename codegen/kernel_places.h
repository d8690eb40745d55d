// codegen/kernel_places.h – which buffers of a plan kernels read and write
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "codegen/kernel.h"

namespace ricci::codegen {

/// The buffers, by their places in the plan, that a kernel reads and writes.
struct Places {
    std::set<std::size_t> reads;
    std::set<std::size_t> writes;
};
[[nodiscard]] Places places_of(const Kernel& kernel);

[[nodiscard]] bool meet(const std::set<std::size_t>& a, const std::set<std::size_t>& b);
/// Whether the kernels may change places.
[[nodiscard]] bool are_independent(const Places& a, const Places& b);

/// Offers the kernels behind `first` to `take`, in order, as long as few were refused: those that
/// may run right behind `first`, before all that were refused. Kernels without writes were lowered
/// already.
void take_followers(const std::vector<Kernel>& kernels, std::size_t first,
                    const std::function<bool(std::size_t kernel)>& take);

/// Two loads along the reduced axes of which each belongs to results that the other knows nothing
/// of: tiles of rows against columns do best.
[[nodiscard]] bool is_rows_against_columns(const Kernel& kernel);

}  // namespace ricci::codegen
