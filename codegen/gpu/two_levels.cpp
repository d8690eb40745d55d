// codegen/gpu/two_levels.cpp – long reductions with few results, in two levels
#include <algorithm>

#include "codegen/gpu/lower.h"
#include "codegen/gpu/threads.h"
#include "codegen/split_reduction.h"

namespace ricci::codegen::gpu {

namespace {

/// Points of a body of one load that a block takes in some 2 us, as long as a further launch.
constexpr double launch_points = 16'384;
constexpr std::int64_t blocks_of_multiprocessor = 4;
constexpr std::int64_t most_chunks = 4096;

/// How many chunks keep all multiprocessors busy; nothing where one level does.
std::int64_t useful_chunks(const Kernel& kernel, std::int64_t blocks, const Target& target) {
    const std::int64_t wanted = blocks_of_multiprocessor * target.gpu.multiprocessors;
    if (blocks == 0 || blocks * 2 > wanted) return 1;
    const double weight = std::max(1.0, body_cost(kernel) / 8);
    const double work = double(points(kernel.free)) * double(points(kernel.reduced)) * weight;
    const double of_block = work / double(blocks);
    if (of_block < 2 * launch_points) return 1;
    const auto most = std::int64_t(std::min(double(most_chunks), 2 * of_block / launch_points));
    return std::min(ceil_div(wanted, blocks), most);
}

}  // namespace

bool wants_two_levels(const Kernel& kernel, std::int64_t blocks, const Target& target) {
    // Atomic stores may stay: they are done once for each total.
    return kernel.colliding.empty() && points(kernel.free) > 0 &&
           useful_chunks(kernel, blocks, target) > 1;
}

bool lower_in_two_levels(const Kernel& kernel, std::int64_t blocks, PlanBuilder& builder) {
    if (!wants_two_levels(kernel, blocks, builder.target())) return false;
    const std::size_t cut = longest(kernel.reduced);
    const std::int64_t extent = kernel.reduced[cut].extent;
    const std::int64_t chunks = std::min(useful_chunks(kernel, blocks, builder.target()), extent);
    if (chunks < 2) return false;
    const std::int64_t length = chunk_length(extent, chunks);
    if (length >= extent) return false;
    SplitReduction levels = split_reduction(kernel, cut, length, builder);
    lower(std::move(levels.partial), builder, Splitting::done);
    lower(std::move(levels.total), builder, Splitting::done);
    return true;
}

}  // namespace ricci::codegen::gpu
