// codegen/gpu/atomic_sums.cpp – points that add to one element at once, by atomic stores
#include "codegen/gpu/atomic_sums.h"

#include <algorithm>

namespace ricci::codegen::gpu {

void use_atomic_sums(Kernel& kernel, const Target& target) {
    if (!target.gpu.has_fast_gathers || kernel.colliding.empty()) return;
    const std::vector<Touch> all = touches(kernel);
    const auto may_be_atomic = [&](const Store& write) {
        const bool is_read = std::ranges::any_of(all, [&](const Touch& touch) {
            return !touch.is_store && touch.buffer == write.buffer;
        });
        return write.combine == Reducer::sum && !is_read &&
               has_atomic_sum(kernel.nest.at(write.buffer).dtype);
    };
    if (!std::ranges::all_of(kernel.writes, may_be_atomic)) return;
    for (Store& write : kernel.writes) write.hint = StoreHint::atomic;
    kernel.colliding.clear();
}

}  // namespace ricci::codegen::gpu
